/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * list-sort N: make, sort, lengthen and sort again N lists of strings, of
 * which none is freed, as a published measurement of lib/list_sort.c did.
 *
 * The lists are those of a course's queue, whose allocator puts a header and a
 * footer around each block and fills it; 355 pages a list say that the program
 * measured had it.
 */

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ELEMENTS 10000
#define MORE 100
#define FILL 0x55
#define MAGIC_HEAD 0xdeadbeef
#define MAGIC_FOOT 0xbeefdead

typedef struct List {
    struct List *prev, *next;
} List;

/* What sorts: the list's order is by value. */
typedef struct Element {
    char *value;
    List list;
} Element;

typedef struct Block {
    struct Block *next, *prev;
    size_t size, magic;
    unsigned char data[];
} Block;

static Block *allocated;
static size_t allocations;
/* Of those, in percent, that are to fail. */
static int fail_probability;

static int must_fail(void)
{
    return (double)random() / RAND_MAX < 0.01 * fail_probability;
}

static void *allocate(size_t size)
{
    const size_t foot = MAGIC_FOOT;
    Block *block;

    if (must_fail()) {
        return NULL;
    }
    block = malloc(sizeof(*block) + size + sizeof(foot));
    if (!block) {
        perror("malloc");
        exit(EXIT_FAILURE);
    }
    block->size = size;
    block->magic = MAGIC_HEAD;
    memset(block->data, FILL, size);
    memcpy(block->data + size, &foot, sizeof(foot));
    block->next = allocated;
    block->prev = NULL;
    if (allocated) {
        allocated->prev = block;
    }
    allocated = block;
    allocations++;
    return block->data;
}

static Element *element(List *list)
{
    return (Element *)((char *)list - offsetof(Element, list));
}

static int compare(List *a, List *b)
{
    return strcmp(element(a)->value, element(b)->value);
}

static void append(List *head, const char *text)
{
    size_t size = strlen(text) + 1;
    Element *new = allocate(sizeof(*new));

    new->value = allocate(size);
    memcpy(new->value, text, size);
    new->list.prev = head->prev;
    new->list.next = head;
    head->prev->next = &new->list;
    head->prev = &new->list;
}

static void append_letters(List *head, int n)
{
    for (int i = 0; i < n; i++) {
        append(head, (char [2]) { 'a' + rand() % 26 });
    }
}

/* From the top: halves, each sorted, the first moved into the second. */
static void top_down_sort(List *head)
{
    List *slow = head->next, *into, *from;
    List first;

    if (head->next == head || head->next == head->prev) {
        return;
    }
    for (List *fast = slow; fast != head && fast->next != head;
         fast = fast->next->next) {
        slow = slow->next;
    }
    first.next = head->next;
    first.prev = slow->prev;
    first.next->prev = first.prev->next = &first;
    head->next = slow;
    slow->prev = head;
    top_down_sort(head);
    top_down_sort(&first);

    into = head->next;
    from = first.next;
    while (into != head && from != &first) {
        if (compare(into, from) < 0) {
            into = into->next;
        } else {
            List *next = from->next;

            next->prev = from->prev;
            from->prev->next = next;
            from->next = into;
            from->prev = into->prev;
            into->prev->next = from;
            into->prev = from;
            from = next;
        }
    }
    if (from != &first) {
        from->prev = head->prev;
        head->prev->next = from;
        first.prev->next = head;
        head->prev = first.prev;
    }
}

/* Lists by next alone, up to NULL. */
static List *merge(List *a, List *b)
{
    List *head, **tail = &head;

    for (;;) {
        /* Equal ones stay in order. */
        if (compare(a, b) <= 0) {
            *tail = a;
            tail = &a->next;
            a = a->next;
            if (!a) {
                *tail = b;
                return head;
            }
        } else {
            *tail = b;
            tail = &b->next;
            b = b->next;
            if (!b) {
                *tail = a;
                return head;
            }
        }
    }
}

/* Make the list of @head from one by next alone. */
static void close_list(List *head, List *sorted)
{
    List *prev = head;

    for (List *each = sorted; each; each = each->next) {
        prev->next = each;
        each->prev = prev;
        prev = each;
    }
    prev->next = head;
    head->prev = prev;
}

/*
 * From the bottom, as lib/list_sort.c does: sorted lists of powers of two wait,
 * linked by prev; two are merged when a third as long has come.
 */
static void list_sort(List *head)
{
    List *list = head->next, *pending = NULL;
    size_t count = 0;

    head->prev->next = NULL;
    do {
        List **tail = &pending, *next;
        size_t bits;

        for (bits = count; bits & 1; bits >>= 1) {
            tail = &(*tail)->prev;
        }
        if (bits) {
            List *a = *tail, *b = a->prev;

            a = merge(b, a);
            a->prev = b->prev;
            *tail = a;
        }
        next = list->next;
        list->prev = pending;
        list->next = NULL;
        pending = list;
        list = next;
        count++;
    } while (list);

    list = pending;
    pending = pending->prev;
    while (pending) {
        List *next = pending->prev;

        list = merge(pending, list);
        pending = next;
    }
    close_list(head, list);
}

static void check(List *head)
{
    int n = 1;

    for (List *each = head->next; each->next != head; each = each->next) {
        if (compare(each, each->next) > 0) {
            fprintf(stderr, "list-sort: element %d is not in order\n", n);
            exit(EXIT_FAILURE);
        }
        n++;
    }
    if (n != ELEMENTS + MORE) {
        fprintf(stderr, "list-sort: %d elements\n", n);
        exit(EXIT_FAILURE);
    }
}

int main(int argc, char **argv)
{
    int lists = argc > 1 ? atoi(argv[1]) : 1;

    for (int i = 0; i < lists; i++) {
        List *head = allocate(sizeof(*head));

        head->prev = head->next = head;
        append_letters(head, ELEMENTS);
        top_down_sort(head);
        append_letters(head, MORE);
        list_sort(head);
        if (!i) {
            check(head);
        }
    }
    return EXIT_SUCCESS;
}
