/* The state of a simulated driver: which GPUs NVML tells of, and the rules that answer calls (written by nvml_rules.py). */
#ifndef FLEETCHECK_NVML_STATE_H
#define FLEETCHECK_NVML_STATE_H

#include "table.h"

#define MAX_GPUS 64
#define EVERY_CALL 0   /* functions and GPUs count from 1 in the table */
#define ANY_GPU 0

enum kind { INTEGER, TEXT, LENGTH, HANDLE };

struct wanted { size_t input; uint64_t value; };

/* Sets part of one output: `width` bytes at `offset`; LENGTH sets how many elements a list has. */
struct write { enum kind kind; size_t output, offset, width; struct value value; struct bytes text; };

struct rule {
    size_t function, gpu, wanted_count, write_count;
    struct wanted *wanted;
    int hangs;
    unsigned int result;
    struct write *writes;
};

struct state { double epoch; size_t gpu_count, rule_count; unsigned int gpus[MAX_GPUS]; struct rule *rules; };

static struct write read_write(struct cursor *cursor)
{
    struct write write = {.kind = (enum kind)read_number(cursor)};
    write.output = read_number(cursor);
    write.offset = read_number(cursor);
    write.width = read_number(cursor);
    if (write.kind == TEXT)
        write.text = read_bytes(cursor);
    else
        write.value = read_value(cursor);
    return write;
}

static struct rule read_rule(struct cursor *cursor)
{
    struct rule rule = {.function = read_number(cursor)};
    rule.gpu = read_number(cursor);
    rule.wanted_count = read_number(cursor);
    rule.wanted = calloc(rule.wanted_count + 1, sizeof *rule.wanted);
    for (size_t i = 0; i < rule.wanted_count; i++) {
        rule.wanted[i].input = read_number(cursor);
        rule.wanted[i].value = read_number(cursor);
    }
    rule.hangs = read_number(cursor) != 0;
    rule.result = (unsigned int)read_number(cursor);
    rule.write_count = read_number(cursor);
    rule.writes = calloc(rule.write_count + 1, sizeof *rule.writes);
    for (size_t i = 0; i < rule.write_count; i++)
        rule.writes[i] = read_write(cursor);
    return rule;
}

/* Whether the file was there. */
static int read_state(const char *path, struct state *state)
{
    struct cursor cursor = read_table(path);
    if (!cursor.at)
        return 0;
    state->epoch = read_double(&cursor);
    state->gpu_count = read_number(&cursor);
    for (size_t i = 0; i < state->gpu_count && i < MAX_GPUS; i++)
        state->gpus[i] = (unsigned int)read_number(&cursor);
    state->rule_count = read_number(&cursor);
    state->rules = calloc(state->rule_count + 1, sizeof *state->rules);
    for (size_t i = 0; i < state->rule_count; i++)
        state->rules[i] = read_rule(&cursor);
    return 1;
}

#endif
