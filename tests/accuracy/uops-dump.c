/*
 * Print what the instruction table says of instructions.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Usage: uops-dump icelake|sapphirerapids < file.  The file has an instruction
 * a line, in hex; so has the output, in the same order: numbers and lists of
 * numbers, named after the fields of PmuInsn, as one JSON object.
 */

#include <glib.h>
#include <stdio.h>
#include <string.h>

#include "tcg/pmu/uarch/uarch.h"
#include "tcg/pmu/decode/decoder.h"

static void print_list(const char *name, const uint8_t *list, unsigned count)
{
    printf(", \"%s\": [", name);
    for (unsigned i = 0; i < count; i++) {
        printf(i ? ", %u" : "%u", list[i]);
    }
    printf("]");
}

static void print_insn(const PmuInsn *insn)
{
    printf("{\"flags\": %u, \"length\": %u, \"slots\": %u, "
           "\"decode_uops\": %u, \"latency\": %u, \"load_latency\": %u, "
           "\"resource\": %u, \"hold\": %u, \"branch\": %u, \"bypass\": %u, "
           "\"access_size\": %u, \"fuse\": %u, \"forward_latency\": %u",
           insn->flags, insn->length, insn->slots, insn->decode_uops,
           insn->latency, insn->load_latency, insn->resource, insn->hold,
           insn->branch, insn->bypass, insn->access_size, insn->fuse,
           insn->forward_latency);
    print_list("src", insn->src, PMU_INSN_SRCS);
    print_list("src_late", insn->src_late, PMU_INSN_SRCS);
    print_list("addr_src", insn->addr_src, 2);
    print_list("dst", insn->dst, PMU_INSN_DSTS);
    print_list("dst_late", insn->dst_late, PMU_INSN_DSTS);
    printf(", \"compute\": [");
    for (unsigned i = 0; i < PMU_INSN_COMPUTE; i++) {
        printf("%s[%u, %u]", i ? ", " : "", insn->compute[i].ports,
               insn->compute[i].count);
    }
    printf("]}\n");
}

static bool parse_hex(const char *line, uint8_t *bytes, unsigned *length)
{
    for (*length = 0; g_ascii_isxdigit(line[0]); line += 2) {
        if (*length == 15 || !g_ascii_isxdigit(line[1])) {
            return false;
        }
        bytes[(*length)++] = g_ascii_xdigit_value(line[0]) << 4 |
                             g_ascii_xdigit_value(line[1]);
    }
    return *length > 0;
}

int main(int argc, char **argv)
{
    bool glc = argc == 2 && !strcmp(argv[1], "sapphirerapids");
    PmuCore core = glc ? PMU_CORE_SAPPHIRERAPIDS : PMU_CORE_ICELAKE;
    PmuDecoder *decoder;
    char line[64];

    if (!glc && (argc != 2 || strcmp(argv[1], "icelake"))) {
        fprintf(stderr, "usage: uops-dump icelake|sapphirerapids\n");
        return 2;
    }
    decoder = pmu_decoder_new(core, pmu_uarch(core));
    if (!decoder) {
        fprintf(stderr, "uops-dump: cannot start Capstone\n");
        return 1;
    }
    while (fgets(line, sizeof(line), stdin)) {
        uint8_t bytes[15];
        unsigned length;
        PmuInsn insn;

        if (!parse_hex(line, bytes, &length)) {
            fprintf(stderr, "uops-dump: no instruction: %s", line);
            return 1;
        }
        pmu_decode_bytes(decoder, bytes, length, &insn);
        print_insn(&insn);
    }
    pmu_decoder_free(decoder);
    return 0;
}
