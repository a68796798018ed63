/* Text with growing numbers in it: read from a table, written to a file descriptor. */
#ifndef FLEETCHECK_TEMPLATE_H
#define FLEETCHECK_TEMPLATE_H

#include <errno.h>
#include <stdio.h>

#include "table.h"

static struct template read_template(struct cursor *cursor)
{
    struct template template = {read_number(cursor), NULL};
    template.pieces = calloc(template.count + 1, sizeof *template.pieces);
    for (size_t i = 0; template.pieces && i < template.count; i++) {
        struct piece *piece = &template.pieces[i];
        piece->is_value = read_number(cursor) != 0;
        if (piece->is_value)
            piece->value = read_value(cursor);
        else
            piece->text = read_bytes(cursor);
    }
    return template;
}

static int write_all(int file, const char *text, size_t length)
{
    while (length > 0) {
        ssize_t written = write(file, text, length);
        if (written < 0 && errno != EINTR)
            return -1;
        if (written > 0) {
            text += written;
            length -= written;
        }
    }
    return 0;
}

static int write_template(int file, const struct template *template, double epoch)
{
    char digits[24];
    for (size_t i = 0; i < template->count; i++) {
        const struct piece *piece = &template->pieces[i];
        struct bytes text = piece->text;
        if (piece->is_value) {
            text.at = digits;
            text.length = snprintf(digits, sizeof digits, "%llu", (unsigned long long)value_now(&piece->value, epoch));
        }
        if (write_all(file, text.at, text.length))
            return -1;
    }
    return 0;
}

#endif
