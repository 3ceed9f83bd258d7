/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * mandelbrot WIDTH HEIGHT: points of the plane between -2 and 2, one after the
 * other, as a published measurement did it; prints a sum for the image.
 */

#include <stdio.h>
#include <stdlib.h>

#define MAX_ITER 10000

static int iterations(double x0, double y0)
{
    double x = 0, y = 0, length_squared = 0;
    int n = 0;

    for (; n < MAX_ITER && length_squared < 4; n++) {
        double next = x * x - y * y + x0;

        y = 2 * x * y + y0;
        x = next;
        length_squared = x * x + y * y;
    }
    return n;
}

int main(int argc, char **argv)
{
    int width = argc > 1 ? atoi(argv[1]) : 0;
    int height = argc > 2 ? atoi(argv[2]) : 0;
    long sum = 0;

    for (int j = 0; j < height; j++) {
        for (int i = 0; i < width; i++) {
            sum += iterations(i * 4.0 / width - 2, j * 4.0 / height - 2);
        }
    }
    printf("%ld\n", sum);
    return EXIT_SUCCESS;
}
