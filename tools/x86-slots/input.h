/*
 * x86-slots: machine code from hex, object files and assembler source.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A host program over the model core, without QEMU.
 */

#ifndef TOOLS_X86_SLOTS_INPUT_H
#define TOOLS_X86_SLOTS_INPUT_H

#include <glib.h>
#include <stdint.h>

/*
 * Returns the bytes of @hex, two digits each, with white space anywhere.  NULL
 * and @error if it contains anything else.
 */
GByteArray *input_hex(const char *hex, GError **error);

/*
 * Returns the code of the ELF file or assembler source (.s, .S) @path from
 * symbol @from to symbol @to.  If @from is NULL, it begins at the start of
 * .text.  If @to is NULL, it ends where symbol @from ends, or with the section
 * if that has no size.  NULL and @error if a file or symbol cannot be used.
 */
GByteArray *input_file(const char *path, const char *from, const char *to,
                       GError **error);

/* The same for an ELF file's contents.  @path is for messages. */
GByteArray *input_elf(const char *path, const uint8_t *data, size_t size,
                      const char *from, const char *to, GError **error);

#endif
