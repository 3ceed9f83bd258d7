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
 * The bytes that @hex, two digits each with white space anywhere between,
 * stands for.  NULL and @error if it has anything else.
 */
GByteArray *input_hex(const char *hex, GError **error);

/*
 * Code of the ELF file or assembler source (.s, .S) @path: from symbol @from
 * to symbol @to.  Without @from it begins at the start of .text; without @to
 * it ends where @from does by its size, if it has one, or with the section.
 * NULL and @error if a file or symbol cannot be used.
 */
GByteArray *input_file(const char *path, const char *from, const char *to,
                       GError **error);

/* The same of an ELF file's contents; @path is for messages. */
GByteArray *input_elf(const char *path, const uint8_t *data, size_t size,
                      const char *from, const char *to, GError **error);

#endif
