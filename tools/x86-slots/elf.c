/*
 * x86-slots: code between two symbols of an ELF file.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A host program over the model core, without QEMU.  The file is not trusted:
 * each offset is checked against the file's size.
 */

#include <elf.h>
#include <string.h>

#include "code.h"
#include "input.h"

typedef struct Elf {
    const char *path;
    const uint8_t *data;
    size_t size;
    Elf64_Ehdr header;
    GError **error;
} Elf;

/* Where a symbol is. */
typedef struct Place {
    unsigned section;
    uint64_t offset;            /* from the section's start */
    uint64_t size;              /* of what it names, 0: not known */
} Place;

G_GNUC_PRINTF(2, 3)
static bool fail(const Elf *elf, const char *format, ...)
{
    g_autofree char *message = NULL;
    va_list args;

    va_start(args, format);
    message = g_strdup_vprintf(format, args);
    va_end(args);
    g_set_error(elf->error, SLOTS_ERROR, SLOTS_ERROR_DATA, "%s: %s",
                elf->path, message);
    return false;
}

/* Returns the @size bytes at @offset; NULL and an error if they are missing. */
static const uint8_t *bytes_at(const Elf *elf, uint64_t offset, uint64_t size)
{
    if (offset > elf->size || size > elf->size - offset) {
        fail(elf, "the file ends before offset %" G_GUINT64_FORMAT,
             offset + size);
        return NULL;
    }
    return elf->data + offset;
}

static bool read_header(Elf *elf)
{
    const uint8_t *data = bytes_at(elf, 0, sizeof(elf->header));
    const Elf64_Ehdr *header = &elf->header;

    if (!data) {
        return false;
    }
    memcpy(&elf->header, data, sizeof(elf->header));
    if (header->e_ident[EI_CLASS] != ELFCLASS64 ||
        header->e_ident[EI_DATA] != ELFDATA2LSB ||
        header->e_machine != EM_X86_64) {
        return fail(elf, "an ELF file, but not one of 64-bit x86 code");
    }
    if (!header->e_shnum || header->e_shentsize != sizeof(Elf64_Shdr)) {
        return fail(elf, "the file has no sections");
    }
    return true;
}

static bool read_section(const Elf *elf, unsigned index, Elf64_Shdr *section)
{
    const uint8_t *data;

    if (index >= elf->header.e_shnum) {
        return fail(elf, "there is no section %u", index);
    }
    data = bytes_at(elf, elf->header.e_shoff +
                         (uint64_t)index * sizeof(*section),
                    sizeof(*section));
    if (data) {
        memcpy(section, data, sizeof(*section));
    }
    return data;
}

/* Whether the string at @offset of string table @section is @name. */
static bool is_name(const Elf *elf, const Elf64_Shdr *section,
                    uint64_t offset, const char *name)
{
    size_t length = strlen(name) + 1;

    if (offset > section->sh_size || length > section->sh_size - offset ||
        section->sh_offset > elf->size ||
        section->sh_size > elf->size - section->sh_offset) {
        return false;
    }
    return !memcmp(elf->data + section->sh_offset + offset, name, length);
}

static bool find_text(const Elf *elf, Place *place)
{
    Elf64_Shdr names, section;

    if (!read_section(elf, elf->header.e_shstrndx, &names)) {
        return false;
    }
    for (unsigned i = 1; i < elf->header.e_shnum; i++) {
        if (!read_section(elf, i, &section)) {
            return false;
        }
        if (is_name(elf, &names, section.sh_name, ".text")) {
            *place = (Place) { .section = i };
            return true;
        }
    }
    return fail(elf, "there is no section .text; name the code with --from");
}

/*
 * Look for @name in the symbol table @table.  Returns false if it is not there,
 * which is not an error, or on an error.
 */
static bool find_in_table(const Elf *elf, const Elf64_Shdr *table,
                          const char *name, Place *place)
{
    Elf64_Shdr names, section;
    Elf64_Sym symbol;

    if (table->sh_entsize != sizeof(symbol) ||
        !bytes_at(elf, table->sh_offset, table->sh_size) ||
        !read_section(elf, table->sh_link, &names)) {
        return false;
    }
    for (uint64_t i = 0; i < table->sh_size / sizeof(symbol); i++) {
        memcpy(&symbol, elf->data + table->sh_offset + i * sizeof(symbol),
               sizeof(symbol));
        if (symbol.st_shndx == SHN_UNDEF || symbol.st_shndx >= SHN_LORESERVE ||
            !is_name(elf, &names, symbol.st_name, name)) {
            continue;
        }
        if (!read_section(elf, symbol.st_shndx, &section)) {
            return false;
        }
        *place = (Place) {
            .section = symbol.st_shndx,
            .offset = symbol.st_value - (elf->header.e_type == ET_REL
                                         ? 0 : section.sh_addr),
            .size = symbol.st_size,
        };
        return true;
    }
    return false;
}

/* Look for symbol @name, which option @option asks for. */
static bool find_symbol(const Elf *elf, const char *option, const char *name,
                        Place *place)
{
    Elf64_Shdr section;

    for (unsigned i = 1; i < elf->header.e_shnum; i++) {
        if (!read_section(elf, i, &section)) {
            return false;
        }
        if ((section.sh_type == SHT_SYMTAB || section.sh_type == SHT_DYNSYM) &&
            find_in_table(elf, &section, name, place)) {
            return true;
        }
        if (*elf->error) {
            return false;
        }
    }
    return fail(elf, "%s: no symbol \"%s\" is defined here (labels that begin "
                "with .L are not kept in object files)", option, name);
}

/* Set @end to the offset at which the code that begins at @start ends. */
static bool find_end(const Elf *elf, const Elf64_Shdr *section,
                     const Place *start, const char *to, uint64_t *end)
{
    Place place;

    if (!to) {
        *end = start->size ? start->offset + start->size : section->sh_size;
    } else if (!find_symbol(elf, "--to", to, &place)) {
        return false;
    } else if (place.section != start->section) {
        return fail(elf, "--to: \"%s\" is in another section", to);
    } else {
        *end = place.offset;
    }
    if (start->offset >= *end || *end > section->sh_size) {
        return fail(elf, "no code from offset 0x%" G_GINT64_MODIFIER
                    "x to 0x%" G_GINT64_MODIFIER "x of a section of 0x%"
                    G_GINT64_MODIFIER "x bytes", start->offset, *end,
                    (uint64_t)section->sh_size);
    }
    return true;
}

GByteArray *input_elf(const char *path, const uint8_t *data, size_t size,
                      const char *from, const char *to, GError **error)
{
    GError *local = NULL;
    Elf elf = { .path = path, .data = data, .size = size, .error = &local };
    GByteArray *code = NULL;
    const uint8_t *bytes;
    Elf64_Shdr section;
    uint64_t end = 0;
    Place start;

    if (read_header(&elf) &&
        (from ? find_symbol(&elf, "--from", from, &start)
              : find_text(&elf, &start)) &&
        read_section(&elf, start.section, &section) &&
        find_end(&elf, &section, &start, to, &end)) {
        if (section.sh_type == SHT_NOBITS) {
            fail(&elf, "the section has no contents");
        } else if ((bytes = bytes_at(&elf, section.sh_offset,
                                     section.sh_size))) {
            code = g_byte_array_append(g_byte_array_new(),
                                       bytes + start.offset,
                                       end - start.offset);
        }
    }
    if (local) {
        g_propagate_error(error, local);
    }
    return code;
}
