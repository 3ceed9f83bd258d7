/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * hash-table bits|crc32 WORDS SOUGHT TIMES: put the words of a file into a
 * hash table and look each one of another file up, TIMES times, as a published
 * measurement did.
 *
 * Chains are lists in arrays; a word's hash is its CRC32, by bits or by the
 * instruction, which has another polynomial.  Each word is sought again and
 * again before the next one is, as the program measured does.
 */

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BUCKETS 797
#define MAX_WORDS 8192

/* What follows an element, 0 for the last; the first is not used. */
typedef struct List {
    char **data;
    int *next;
    int tail, capacity;
} List;

typedef struct Table {
    List lists[BUCKETS];
    uint64_t (*hash)(char *word);
} Table;

typedef struct Words {
    char *word[MAX_WORDS];
    size_t n;
    char text[1 << 20];
} Words;

static uint64_t crc32_by_bits(char *text)
{
    uint32_t mask = 0, hash = 0xffffffff;

    for (size_t i = 0; text[i] != 0; i++) {
        hash = hash ^ (uint32_t)text[i];
        for (size_t j = 0; j < 8; j++) {
            mask = -(hash & 1);
            hash = (hash >> 1) ^ (0xedb88320 & mask);
        }
    }
    return (uint64_t)~hash;
}

uint64_t crc32_by_instruction(char *text);

/* Whatever the compiler's options are. */
asm(".text\n"
    "crc32_by_instruction:\n"
    "    push %rbp\n"
    "    mov %rsp, %rbp\n"
    "    xor %rax, %rax\n"
    "    mov $0xffffffff, %eax\n"
    "    jmp 1f\n"
    "0:  crc32b (%rdi), %eax\n"
    "    inc %rdi\n"
    "1:  cmpb $0, (%rdi)\n"
    "    ja 0b\n"
    "    mov %rbp, %rsp\n"
    "    pop %rbp\n"
    "    ret\n");

static __attribute__((noinline)) int
list_find(List *list, char *word, size_t *position)
{
    size_t at = 0;

    while (list->next[at] != 0) {
        if (list->data[at] != NULL) {
            if (strcmp(word, list->data[at]) == 0) {
                *position = at;
                return 1;
            }
        }
        at = list->next[at];
    }
    return 0;
}

static void list_grow(List *list)
{
    if (list->tail + 1 >= list->capacity) {
        list->capacity = list->capacity ? 2 * list->capacity : 8;
        list->data = realloc(list->data, list->capacity * sizeof(*list->data));
        list->next = realloc(list->next, list->capacity * sizeof(*list->next));
        if (!list->data || !list->next) {
            perror("realloc");
            exit(EXIT_FAILURE);
        }
        list->data[0] = NULL;
        list->next[list->tail] = 0;
    }
}

static void list_append(List *list, char *word)
{
    list_grow(list);
    list->next[list->tail] = list->tail + 1;
    list->tail++;
    list->data[list->tail] = word;
    list->next[list->tail] = 0;
}

static int table_find(Table *table, char *word, size_t *position)
{
    size_t bucket = table->hash(word) % BUCKETS;

    return list_find(&table->lists[bucket], word, position);
}

static void read_words(const char *name, Words *words)
{
    FILE *file = fopen(name, "r");
    char *word = words->text;

    if (!file) {
        perror(name);
        exit(EXIT_FAILURE);
    }
    word[fread(word, 1, sizeof(words->text) - 1, file)] = 0;
    fclose(file);
    while (word && *word && words->n < MAX_WORDS) {
        words->word[words->n++] = word;
        word = strchr(word, '\n');
        if (word) {
            *word++ = 0;
        }
    }
}

int main(int argc, char **argv)
{
    static Table table;
    static Words words, sought;
    size_t found = 0, position = 0, times;

    if (argc != 5) {
        fprintf(stderr, "usage: hash-table bits|crc32 WORDS SOUGHT TIMES\n");
        return EXIT_FAILURE;
    }
    table.hash = strcmp(argv[1], "bits") ? crc32_by_instruction
                                         : crc32_by_bits;
    read_words(argv[2], &words);
    read_words(argv[3], &sought);
    times = strtoul(argv[4], NULL, 0);
    for (size_t i = 0; i < BUCKETS; i++) {
        list_grow(&table.lists[i]);
    }
    for (size_t i = 0; i < words.n; i++) {
        list_append(&table.lists[table.hash(words.word[i]) % BUCKETS],
                    words.word[i]);
    }
    for (size_t i = 0; i < sought.n; i++) {
        for (size_t j = 0; j < times; j++) {
            found += table_find(&table, sought.word[i], &position);
        }
    }
    printf("%zu\n", found + position);
    return EXIT_SUCCESS;
}
