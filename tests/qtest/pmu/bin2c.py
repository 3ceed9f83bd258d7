#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Write the file ARGV[1] as a C array called ARGV[2] to standard output."""

import sys

with open(sys.argv[1], 'rb') as f:
    data = f.read()
print('static const unsigned char %s[%d] = {' % (sys.argv[2], len(data)))
for start in range(0, len(data), 16):
    print('    ' + ' '.join('%d,' % b for b in data[start:start + 16]))
print('};')
