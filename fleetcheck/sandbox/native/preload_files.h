/* The calls that open and read files, as the preloaded library answers them; part of preload.c. */

/* The C library's own function. Looked up once: dlsym() takes a lock, which a child of a threaded process must not need. */
#define NEXT(name) ({ \
        static __typeof__(&name) found; \
        found ? found : (found = (__typeof__(&name))dlsym(RTLD_NEXT, #name)); \
    })

#define MODE(flags, last) \
    mode_t mode = 0; \
    if ((flags) & O_CREAT || ((flags) & O_TMPFILE) == O_TMPFILE) { \
        va_list rest; \
        va_start(rest, last); \
        mode = va_arg(rest, mode_t); \
        va_end(rest); \
    }

#define OPEN(name) \
    int name(const char *path, int flags, ...) \
    { \
        int descriptor; \
        MODE(flags, flags) \
        return opened(path, flags, &descriptor) ? descriptor : NEXT(name)(path, flags, mode); \
    }

#define OPENAT(name) \
    int name(int folder, const char *path, int flags, ...) \
    { \
        int descriptor; \
        MODE(flags, flags) \
        if ((folder == AT_FDCWD || *path == '/') && opened(path, flags, &descriptor)) \
            return descriptor; \
        return NEXT(name)(folder, path, flags, mode); \
    }

OPEN(open)
OPEN(open64)
OPENAT(openat)
OPENAT(openat64)

/* What open() becomes in programs that were compiled with fortified headers. */
int __open_2(const char *path, int flags) { return open(path, flags); }
int __open64_2(const char *path, int flags) { return open64(path, flags); }
int __openat_2(int folder, const char *path, int flags) { return openat(folder, path, flags); }
int __openat64_2(int folder, const char *path, int flags) { return openat64(folder, path, flags); }

static ssize_t failing_read(void *code, char *buffer, size_t size)
{
    (void)buffer, (void)size;
    errno = (int)(intptr_t)code;
    return -1;
}

/* stdio reads by the C library's own calls, which no preloaded read() sees: a stream has to be answered as a whole. */
static FILE *stream(const struct file *file)
{
    int descriptor;
    if (file->kind == FAILS_AT_READ)
        return fopencookie((void *)(intptr_t)file->code, "r", (cookie_io_functions_t){.read = failing_read});
    return opened(file->path.at ? strndupa(file->path.at, file->path.length) : "", O_RDONLY, &descriptor) && descriptor >= 0
        ? fdopen(descriptor, "r") : NULL;
}

#define FOPEN(name) \
    FILE *name(const char *path, const char *mode) \
    { \
        const struct file *file = *mode == 'r' && !strchr(mode, '+') ? file_at(path) : NULL; \
        return file ? stream(file) : NEXT(name)(path, mode); \
    }

FOPEN(fopen)
FOPEN(fopen64)

DIR *opendir(const char *path)
{
    const struct file *file = file_at(path);
    if (!file || file->kind == CONTENT)
        return NEXT(opendir)(path);
    if (file->kind == HANGS)
        hang();
    errno = file->code;
    return NULL;
}

#define READ(type, name, parameters, arguments) \
    type name parameters \
    { \
        int code = read_failure(descriptor); \
        if (!code) \
            return NEXT(name) arguments; \
        errno = code; \
        return -1; \
    }

READ(ssize_t, read, (int descriptor, void *to, size_t size), (descriptor, to, size))
READ(ssize_t, pread, (int descriptor, void *to, size_t size, off_t at), (descriptor, to, size, at))
READ(ssize_t, pread64, (int descriptor, void *to, size_t size, off64_t at), (descriptor, to, size, at))
READ(ssize_t, readv, (int descriptor, const struct iovec *to, int count), (descriptor, to, count))
READ(ssize_t, copy_file_range, (int descriptor, off64_t *at, int to, off64_t *to_at, size_t size, unsigned int flags),
     (descriptor, at, to, to_at, size, flags))

ssize_t __read_chk(int descriptor, void *to, size_t size, size_t room)
{
    if (size > room)
        abort();
    return read(descriptor, to, size);
}
