/* How the programs of this folder read the tables that Python writes (tables.py): numbers as unsigned decimals, floating
 * numbers as the decimal of their 64 bits, strings as LENGTH:BYTES, all separated by blanks. A table cut short reads as zeros.
 */
#ifndef FLEETCHECK_TABLE_H
#define FLEETCHECK_TABLE_H

#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

struct cursor { const char *at, *end; };
struct bytes { const char *at; size_t length; };

/* A number, or one that grows from start by rate a second since the table's epoch. */
struct value { uint64_t constant; int grows; double start, rate; };

/* Text with values in it: pieces in turn, each bytes or a value. */
struct piece { int is_value; struct bytes text; struct value value; };
struct template { size_t count; struct piece *pieces; };

/* The whole file, or an empty cursor whose `at` is NULL. By plain system calls, as open() and read() may be our own. */
static struct cursor read_table(const char *path)
{
    struct cursor none = {NULL, NULL};
    size_t size = 0, room = 1 << 16;
    char *text;
    long got = -1, file = syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
    if (file < 0 || !(text = malloc(room)))
        return none;
    while ((got = syscall(SYS_read, file, text + size, room - size)) > 0) {
        size += got;
        if (size == room && !(text = realloc(text, room *= 2)))
            break;
    }
    syscall(SYS_close, file);
    return got == 0 ? (struct cursor){text, text + size} : none;
}

static uint64_t read_number(struct cursor *cursor)
{
    uint64_t number = 0;
    while (cursor->at < cursor->end && (*cursor->at == ' ' || *cursor->at == '\n'))
        cursor->at++;
    while (cursor->at < cursor->end && *cursor->at >= '0' && *cursor->at <= '9')
        number = number * 10 + (uint64_t)(*cursor->at++ - '0');
    return number;
}

static double read_double(struct cursor *cursor)
{
    uint64_t bits = read_number(cursor);
    double number;
    memcpy(&number, &bits, sizeof number);
    return number;
}

static struct bytes read_bytes(struct cursor *cursor)
{
    struct bytes bytes = {cursor->at, 0};
    size_t length = read_number(cursor);
    if (cursor->at < cursor->end && *cursor->at == ':')
        cursor->at++;
    bytes.at = cursor->at;
    bytes.length = length < (size_t)(cursor->end - cursor->at) ? length : (size_t)(cursor->end - cursor->at);
    cursor->at += bytes.length;
    return bytes;
}

static struct value read_value(struct cursor *cursor)
{
    struct value value = {0};
    value.grows = read_number(cursor) != 0;
    if (value.grows) {
        value.start = read_double(cursor);
        value.rate = read_double(cursor);
    } else {
        value.constant = read_number(cursor);
    }
    return value;
}

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_REALTIME, &time);
    return time.tv_sec + time.tv_nsec / 1e9;
}

/* Growing values are whole and never below zero. */
static uint64_t value_now(const struct value *value, double epoch)
{
    double number;
    if (!value->grows)
        return value->constant;
    number = value->start + value->rate * (now() - epoch);
    return number <= 0 ? 0 : number >= 18446744073709551615.0 ? UINT64_MAX : (uint64_t)number;
}

static void hang(void)
{
    for (;;)
        pause();
}

#endif
