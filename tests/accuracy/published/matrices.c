/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * matrices ikj|ijk ROWS: multiply ROWS rows of a matrix of integers by one of
 * 1000 by 1000, as a published measurement of a C++ program did with 1000.
 *
 * The inner loop is that of vectors of vectors: rows lie apart, and what
 * points to them takes three words.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N 1000

typedef struct Row {
    int *first, *last, *end;
} Row;

static Row *make_matrix(int rows)
{
    Row *matrix = calloc(rows, sizeof(*matrix));

    for (int i = 0; matrix && i < rows; i++) {
        matrix[i].first = calloc(N, sizeof(int));
        if (!matrix[i].first) {
            matrix = NULL;
        } else {
            matrix[i].last = matrix[i].end = matrix[i].first + N;
        }
    }
    if (!matrix) {
        perror("calloc");
        exit(EXIT_FAILURE);
    }
    return matrix;
}

static void fill(Row *matrix, int rows)
{
    unsigned state = 1;

    for (int i = 0; i < rows; i++) {
        for (int j = 0; j < N; j++) {
            state = state * 1103515245 + 12345;
            matrix[i].first[j] = (state >> 16) % 99 + 1;
        }
    }
}

static __attribute__((noinline)) void
multiply_ikj(Row *result, const Row *a, const Row *b, int rows)
{
    for (int i = 0; i < rows; i++) {
        for (int k = 0; k < N; k++) {
            for (int j = 0; j < N; j++) {
                result[i].first[j] += a[i].first[k] * b[k].first[j];
            }
        }
    }
}

static __attribute__((noinline)) void
multiply_ijk(Row *result, const Row *a, const Row *b, int rows)
{
    for (int i = 0; i < rows; i++) {
        for (int j = 0; j < N; j++) {
            for (int k = 0; k < N; k++) {
                result[i].first[j] += a[i].first[k] * b[k].first[j];
            }
        }
    }
}

int main(int argc, char **argv)
{
    int rows = argc == 3 ? atoi(argv[2]) : 0;
    Row *a, *b, *result;

    if (rows < 1 || rows > N) {
        fprintf(stderr, "usage: matrices ikj|ijk ROWS\n");
        return EXIT_FAILURE;
    }
    a = make_matrix(rows);
    b = make_matrix(N);
    result = make_matrix(rows);
    fill(a, rows);
    fill(b, N);
    (strcmp(argv[1], "ijk") ? multiply_ikj : multiply_ijk)(result, a, b, rows);
    for (int i = 0; i < rows; i++) {
        for (int j = 0; j < N; j++) {
            printf("%d ", result[i].first[j]);
        }
        putchar('\n');
    }
    return EXIT_SUCCESS;
}
