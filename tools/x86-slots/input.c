/*
 * x86-slots: machine code from hex, object files and assembler source.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A host program over the model core, without QEMU.
 */

#include <elf.h>
#include <glib/gstdio.h>
#include <string.h>
#include <unistd.h>

#include "code.h"
#include "input.h"

GByteArray *input_hex(const char *hex, GError **error)
{
    GByteArray *bytes = g_byte_array_new();
    int high = -1;

    for (const char *p = hex; *p; p++) {
        int digit = g_ascii_xdigit_value(*p);

        if (g_ascii_isspace(*p)) {
            continue;
        }
        if (digit < 0) {
            g_set_error(error, SLOTS_ERROR, SLOTS_ERROR_USAGE,
                        "character %td is none of 0-9, a-f, A-F", p - hex + 1);
            g_byte_array_free(bytes, TRUE);
            return NULL;
        }
        if (high < 0) {
            high = digit;
        } else {
            uint8_t byte = high << 4 | digit;

            g_byte_array_append(bytes, &byte, 1);
            high = -1;
        }
    }
    if (high >= 0 || !bytes->len) {
        g_set_error(error, SLOTS_ERROR, SLOTS_ERROR_USAGE, high >= 0
                    ? "the number of hex digits is odd"
                    : "there are no hex digits");
        g_byte_array_free(bytes, TRUE);
        return NULL;
    }
    return bytes;
}

static GByteArray *read_elf(const char *path, const char *shown,
                            const char *from, const char *to, GError **error)
{
    g_autoptr(GError) local = NULL;
    g_autofree char *data = NULL;
    gsize size;

    if (!g_file_get_contents(path, &data, &size, &local)) {
        g_set_error_literal(error, SLOTS_ERROR, SLOTS_ERROR_DATA,
                            local->message);
        return NULL;
    }
    if (size < SELFMAG || memcmp(data, ELFMAG, SELFMAG)) {
        g_set_error(error, SLOTS_ERROR, SLOTS_ERROR_DATA,
                    "%s: neither an ELF file nor assembler source "
                    "(.s or .S)", shown);
        return NULL;
    }
    return input_elf(shown, (uint8_t *)data, size, from, to, error);
}

/*
 * Assemble @path to @object.  A .S file goes to the compiler driver, as it
 * needs the preprocessor.  The programs' messages go to stderr.
 */
static bool assemble(const char *path, const char *object, GError **error)
{
    bool preprocess = g_str_has_suffix(path, ".S");
    const char *program = g_getenv(preprocess ? "CC" : "AS");
    const char *as[] = {
        program ? program : "as", "--64", "-o", object, path, NULL
    };
    const char *cc[] = {
        program ? program : "cc", "-m64", "-c", "-o", object, path, NULL
    };
    char **argv = (char **)(preprocess ? cc : as);
    g_autoptr(GError) local = NULL;
    int status;

    if (!g_spawn_sync(NULL, argv, NULL, G_SPAWN_SEARCH_PATH, NULL, NULL, NULL,
                      NULL, &status, &local)) {
        g_set_error(error, SLOTS_ERROR, SLOTS_ERROR_DATA, "%s: %s", path,
                    local->message);
        return false;
    }
    if (status) {
        g_set_error(error, SLOTS_ERROR, SLOTS_ERROR_DATA,
                    "%s: %s cannot assemble it", path, argv[0]);
        return false;
    }
    return true;
}

static GByteArray *read_source(const char *path, const char *from,
                               const char *to, GError **error)
{
    g_autoptr(GError) local = NULL;
    g_autofree char *object = NULL;
    GByteArray *bytes = NULL;
    int fd = g_file_open_tmp("x86-slots-XXXXXX", &object, &local);

    if (fd < 0) {
        g_set_error_literal(error, SLOTS_ERROR, SLOTS_ERROR_DATA,
                            local->message);
        return NULL;
    }
    close(fd);
    if (assemble(path, object, error)) {
        bytes = read_elf(object, path, from, to, error);
    }
    g_unlink(object);
    return bytes;
}

GByteArray *input_file(const char *path, const char *from, const char *to,
                       GError **error)
{
    if (!g_file_test(path, G_FILE_TEST_EXISTS)) {
        g_set_error(error, SLOTS_ERROR, SLOTS_ERROR_DATA,
                    "%s: there is no such file", path);
        return NULL;
    }
    if (g_str_has_suffix(path, ".s") || g_str_has_suffix(path, ".S")) {
        return read_source(path, from, to, error);
    }
    return read_elf(path, path, from, to, error);
}
