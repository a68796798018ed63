/* The calls of the simulated NVML that do more than fill their outputs; part of nvml.c. */

static int load_state(void)
{
    char path[PATH_MAX];
    Dl_info self;
    char *slash;
    if (!dladdr((void *)load_state, &self))
        return 0;
    snprintf(path, sizeof path, "%s", self.dli_fname);
    slash = strrchr(path, '/');
    snprintf(slash ? slash + 1 : path, sizeof path - (slash ? slash + 1 - path : 0), "nvml.state");
    if (read_state(path, &state))
        return 1;
    fprintf(stderr, "simulated NVML: cannot read its state, %s\n", path);
    return 0;
}

static nvmlReturn_t start(size_t function)
{
    nvmlReturn_t result;
    if (!users && !load_state())
        return UNKNOWN;
    users++;
    result = answer(&(struct call){.function = function});
    users -= result != SUCCESS;
    return result;
}

static nvmlReturn_t own_nvmlInitWithFlags(unsigned int flags)
{
    (void)flags;
    return start(ID_nvmlInitWithFlags);
}

static nvmlReturn_t own_nvmlInit_v2(void)
{
    return start(ID_nvmlInit_v2);
}

static nvmlReturn_t own_nvmlShutdown(void)
{
    nvmlReturn_t result = answer(&(struct call){.function = ID_nvmlShutdown});
    users -= result == SUCCESS;
    return result;
}

static const char *own_nvmlErrorString(nvmlReturn_t result)
{
    switch (result) {
#define NVML_RETURN(name, code, text) case code: return text;
#include "nvml_returns.h"
    default: return "Unknown Error";
    }
}

/* A handle is as good as its GPU: rules with this GPU decide. `gpu` below zero: none was found. */
static nvmlReturn_t hand_out(size_t function, long gpu, nvmlReturn_t otherwise, uint64_t input, nvmlDevice_t *device)
{
    struct call call = {.function = function, .device = gpu < 0 ? NULL : &devices[gpu % MAX_GPUS], .inputs = {input}};
    nvmlReturn_t result = !users ? UNINITIALIZED : !device ? INVALID_ARGUMENT : gpu < 0 ? otherwise : answer(&call);
    if (result == SUCCESS)
        *device = call.device;
    return result;
}

static nvmlReturn_t own_nvmlDeviceGetHandleByIndex_v2(unsigned int index, nvmlDevice_t *device)
{
    long gpu = users && index < state.gpu_count ? (long)state.gpus[index] : -1;
    return hand_out(ID_nvmlDeviceGetHandleByIndex_v2, gpu, INVALID_ARGUMENT, index, device);
}

/* The first GPU of which NVML records this text, or -1. */
static long gpu_with(size_t function, const char *text)
{
    char recorded[128];
    for (size_t i = 0; users && text && i < state.gpu_count; i++) {
        struct call call = {.function = function, .peek = 1, .device = &devices[state.gpus[i] % MAX_GPUS],
                            .outputs = {{.form = STRING, .at = recorded, .size = sizeof recorded}}};
        if (answer(&call) == SUCCESS && *recorded && !strcmp(recorded, text))
            return state.gpus[i];
    }
    return -1;
}

static nvmlReturn_t own_nvmlDeviceGetHandleByUUID(const char *uuid, nvmlDevice_t *device)
{
    return hand_out(ID_nvmlDeviceGetHandleByUUID, gpu_with(ID_nvmlDeviceGetUUID, uuid), NOT_FOUND, 0, device);
}

static nvmlReturn_t own_nvmlDeviceGetHandleBySerial(const char *serial, nvmlDevice_t *device)
{
    return hand_out(ID_nvmlDeviceGetHandleBySerial, gpu_with(ID_nvmlDeviceGetSerial, serial), NOT_FOUND, 0, device);
}

/* Domains are written with four or eight digits, in either case: compared as numbers. */
static int same_address(const char *one, const char *other)
{
    unsigned int a[3], b[3];
    return sscanf(one, "%x:%x:%x", &a[0], &a[1], &a[2]) == 3 && sscanf(other, "%x:%x:%x", &b[0], &b[1], &b[2]) == 3
        && !memcmp(a, b, sizeof a);
}

static nvmlReturn_t own_nvmlDeviceGetHandleByPciBusId_v2(const char *pciBusId, nvmlDevice_t *device)
{
    long gpu = -1;
    for (size_t i = 0; users && pciBusId && gpu < 0 && i < state.gpu_count; i++) {
        nvmlPciInfo_t pci;
        struct call call = {.function = ID_nvmlDeviceGetPciInfo_v3, .peek = 1, .device = &devices[state.gpus[i] % MAX_GPUS],
                            .outputs = {{.at = &pci, .size = sizeof pci}}};
        if (answer(&call) == SUCCESS && same_address(pci.busId, pciBusId))
            gpu = state.gpus[i];
    }
    return hand_out(ID_nvmlDeviceGetHandleByPciBusId_v2, gpu, NOT_FOUND, 0, device);
}

static nvmlReturn_t own_nvmlDeviceGetFieldValues(nvmlDevice_t device, int valuesCount, nvmlFieldValue_t *values)
{
    /* No function has this number: only rules for every call decide whether the call itself fails. */
    nvmlReturn_t whole = answer(&(struct call){.function = SIZE_MAX, .has_device = 1, .device = device});
    if (whole != SUCCESS && whole != NOT_SUPPORTED)
        return whole;
    if (!values || valuesCount < 1)
        return INVALID_ARGUMENT;
    for (nvmlFieldValue_t *field = values; field < values + valuesCount; field++) {
        nvmlReturn_t result;
        *field = (nvmlFieldValue_t){.fieldId = field->fieldId, .scopeId = field->scopeId};
        result = answer(&(struct call){
            .function = ID_nvmlDeviceGetFieldValues, .has_device = 1, .device = device,
            .inputs = {field->fieldId, field->scopeId},
            .outputs = {{.at = field, .size = sizeof *field, .keep = offsetof(nvmlFieldValue_t, timestamp)}}});
        field->nvmlReturn = result;
        if (!field->timestamp)
            field->timestamp = (long long)(now() * 1e6);
    }
    return SUCCESS;
}

static nvmlReturn_t own_nvmlEventSetCreate(nvmlEventSet_t *set)
{
    nvmlReturn_t result = answer(&(struct call){.function = ID_nvmlEventSetCreate});
    if (result == SUCCESS && !set)
        return INVALID_ARGUMENT;
    if (result == SUCCESS)
        *set = (nvmlEventSet_t)&state;
    return result;
}

static nvmlReturn_t own_nvmlEventSetWait_v2(nvmlEventSet_t set, nvmlEventData_t *data, unsigned int timeoutms)
{
    nvmlReturn_t result = answer(&(struct call){.function = ID_nvmlEventSetWait_v2, .inputs = {timeoutms},
                                                .outputs = {{.at = data, .size = sizeof *data}}});
    struct timespec time = {timeoutms / 1000, timeoutms % 1000 * 1000000L};
    (void)set;
    if (result == TIMEOUT)
        nanosleep(&time, NULL);
    return result;
}
