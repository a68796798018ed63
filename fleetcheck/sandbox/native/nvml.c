/* A simulated libnvidia-ml.so.1: answers every call from the rules in nvml.state beside it.
 *
 * This file finds the answer; the exported functions are generated from nvml.h (nvml_source.py) around it. Each describes its
 * call and hands it to answer(), or to own_NAME() where the call does more than fill its outputs.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <time.h>

#include "nvml.h"
#include "nvml_state.h"

#define NVML_RETURN(name, code, text) name = code,
enum {
#include "nvml_returns.h"
};
#undef NVML_RETURN

struct device { unsigned int gpu; };

/* Where an answer goes. PLAIN: `size` bytes of which the first `keep` are the caller's; STRING: a buffer of `size`;
 * ARRAY: elements of `size` bytes, as many as the call's *count says there is room for. */
enum form { PLAIN, STRING, ARRAY };
struct output { enum form form; void *at; size_t size, keep; };

struct call {
    size_t function;
    int has_device, peek;   /* peek: what the rules record, whatever they return */
    struct device *device, *peer;
    uint64_t inputs[4];
    unsigned int *count;
    struct output outputs[4];
};

static struct state state;
static struct device devices[MAX_GPUS];
static int users;

static int is_device(const struct device *device)
{
    return device >= devices && device < devices + MAX_GPUS;
}

/* A device as an input: its GPU's number. */
static uint64_t gpu_of(const struct device *device)
{
    return is_device(device) ? (uint64_t)(device - devices) : UINT64_MAX;
}

static size_t versioned(const void *at, size_t known)
{
    size_t size = at ? *(const unsigned int *)at & 0xffffff : 0;
    return size < known ? size : known;
}

static int on_gpu(const struct rule *rule, const struct device *device)
{
    return device && (rule->gpu == ANY_GPU || gpu_of(device) + 1 == rule->gpu);
}

static int applies(const struct rule *rule, const struct call *call)
{
    if (rule->function == EVERY_CALL)
        return !call->peek && (on_gpu(rule, call->device) || on_gpu(rule, call->peer));
    if (rule->function != call->function || !(rule->gpu == ANY_GPU || on_gpu(rule, call->device)))
        return 0;
    for (size_t i = 0; i < rule->wanted_count; i++)
        if (call->inputs[rule->wanted[i].input] != rule->wanted[i].value)
            return 0;
    return 1;
}

/* The last rule that applies, or NULL. */
static const struct rule *deciding(const struct call *call)
{
    for (size_t i = state.rule_count; i-- > 0;)
        if (applies(&state.rules[i], call))
            return &state.rules[i];
    return NULL;
}

static nvmlReturn_t put(const struct call *call, const struct write *write)
{
    const struct output *output = &call->outputs[write->output];
    uint64_t number = value_now(&write->value, state.epoch);
    const void *from = &number, *handle = &devices[number % MAX_GPUS];
    size_t length = write->width;
    if (write->kind == LENGTH || !output->at)
        return SUCCESS;
    if (write->kind == HANDLE)
        from = &handle;
    if (output->form == STRING && write->text.length >= output->size)
        return INSUFFICIENT_SIZE;
    if (output->form != ARRAY && write->offset + write->width > output->size)
        return SUCCESS;   /* a field that this version of the struct does not have */
    if (write->kind == TEXT) {
        memset((char *)output->at + write->offset, 0, write->width);
        from = write->text.at;
        length = write->text.length < length ? write->text.length : length - (length > 0);
    }
    if (output->form == STRING)
        ((char *)output->at)[length = write->text.length] = 0;
    memcpy((char *)output->at + write->offset, from, length);
    return SUCCESS;
}

static nvmlReturn_t put_all(const struct call *call, const struct rule *rule)
{
    for (size_t i = 0; i < rule->write_count; i++) {
        nvmlReturn_t result = put(call, &rule->writes[i]);
        if (result != SUCCESS)
            return result;
    }
    return SUCCESS;
}

/* A list replaces the whole list that earlier rules gave. Too little room: the count that would do, as NVML says it. */
static nvmlReturn_t put_list(const struct call *call)
{
    for (size_t i = state.rule_count; i-- > 0;) {
        const struct rule *rule = &state.rules[i];
        if (!applies(rule, call) || !rule->write_count)
            continue;
        size_t length = rule->writes[0].value.constant, room = *call->count;
        *call->count = (unsigned int)length;
        if (room < length || (length && !call->outputs[0].at))
            return INSUFFICIENT_SIZE;
        for (int k = 0; length && k < 4 && call->outputs[k].size; k++)
            if (call->outputs[k].at)
                memset(call->outputs[k].at, 0, length * call->outputs[k].size);
        return put_all(call, rule);
    }
    *call->count = 0;
    return SUCCESS;
}

/* Zeroed whole: pynvml reads one-byte states as four bytes, padding included. */
static nvmlReturn_t clear(const struct call *call)
{
    for (int i = 0; i < 4 && (call->outputs[i].size || call->outputs[i].at); i++) {
        const struct output *output = &call->outputs[i];
        if (!output->at)
            return INVALID_ARGUMENT;
        if (output->size <= output->keep)
            return output->form == STRING ? INSUFFICIENT_SIZE : ARGUMENT_VERSION_MISMATCH;
        memset((char *)output->at + output->keep, 0, output->form == STRING ? 1 : output->size - output->keep);
    }
    return SUCCESS;
}

static nvmlReturn_t fill(const struct call *call)
{
    nvmlReturn_t result = call->count ? put_list(call) : clear(call);
    for (size_t i = 0; !call->count && result == SUCCESS && i < state.rule_count; i++)
        if (applies(&state.rules[i], call))
            result = put_all(call, &state.rules[i]);
    return result;
}

static nvmlReturn_t answer(const struct call *call)
{
    const struct rule *rule;
    if (!users)
        return UNINITIALIZED;
    if (call->has_device && !is_device(call->device))
        return INVALID_ARGUMENT;
    if (call->peek)
        return fill(call);
    rule = deciding(call);
    if (rule && rule->hangs)
        hang();
    if (!rule || rule->result != SUCCESS)
        return rule ? rule->result : NOT_SUPPORTED;
    return fill(call);
}

#include "nvml_own.h"
