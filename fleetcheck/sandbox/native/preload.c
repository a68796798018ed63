/* Preloaded into the processes of a simulated node: what ordinary files cannot imitate.
 *
 * $FLEETCHECK_SIM_TABLE names the table: epoch; files (path, kind, template or errno); mounts (path, hangs, errno, values).
 * A file that grows is opened as an anonymous file that holds its content of now. A file whose read() fails keeps its
 * descriptor, recognised by its path, so that it fails after dup() and in children too. Without a table nothing changes.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/uio.h>

#include "template.h"

enum kind { CONTENT, FAILS_AT_OPEN, FAILS_AT_READ, HANGS };
enum { BSIZE, FRSIZE, BLOCKS, BFREE, BAVAIL, FILES, FFREE, FAVAIL, FLAG, NAMEMAX, VALUES };

struct file { struct bytes path; enum kind kind; int code; struct template content; };
struct mount { struct bytes path; int hangs, code, given[VALUES]; struct value values[VALUES]; };

static double epoch;
static struct file *files;
static struct mount *mounts;
static size_t file_count, mount_count;
static int some_fail_at_read;

static struct file read_file(struct cursor *cursor)
{
    struct file file = {.path = read_bytes(cursor)};
    file.kind = (enum kind)read_number(cursor);
    if (file.kind == CONTENT)
        file.content = read_template(cursor);
    else if (file.kind != HANGS)
        file.code = (int)read_number(cursor);
    some_fail_at_read |= file.kind == FAILS_AT_READ;
    return file;
}

static struct mount read_mount(struct cursor *cursor)
{
    struct mount mount = {.path = read_bytes(cursor)};
    mount.hangs = read_number(cursor) != 0;
    mount.code = (int)read_number(cursor);
    for (size_t left = read_number(cursor); left > 0; left--) {
        size_t which = read_number(cursor) % VALUES;
        mount.given[which] = 1;
        mount.values[which] = read_value(cursor);
    }
    return mount;
}

/* Counts are set last: until then, and in other libraries' constructors, every call passes through. */
__attribute__((constructor)) static void load(void)
{
    const char *path = getenv("FLEETCHECK_SIM_TABLE");
    struct cursor cursor = path ? read_table(path) : (struct cursor){NULL, NULL};
    double from = read_double(&cursor);
    size_t count = read_number(&cursor);
    files = calloc(count + 1, sizeof *files);
    for (size_t i = 0; i < count; i++)
        files[i] = read_file(&cursor);
    epoch = from;
    file_count = files ? count : 0;
    count = read_number(&cursor);
    mounts = calloc(count + 1, sizeof *mounts);
    for (size_t i = 0; i < count; i++)
        mounts[i] = read_mount(&cursor);
    mount_count = mounts ? count : 0;
}

static int equal(struct bytes text, const char *other)
{
    return text.length == strlen(other) && !memcmp(text.at, other, text.length);
}

static const char *last_part(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static int ends_like(const char *path, struct bytes full)
{
    const char *part = last_part(path);
    size_t length = strlen(part);
    return full.length > length && full.at[full.length - length - 1] == '/' && !memcmp(full.at + full.length - length, part, length);
}

/* The path with its folder's links resolved. A node's /sys is full of them. */
static int resolve(const char *path, char resolved[PATH_MAX])
{
    char folder[PATH_MAX], real[PATH_MAX];
    const char *part = last_part(path);
    size_t length = part - path;
    if (length >= sizeof folder)
        return 0;
    memcpy(folder, length ? path : ".", length ? length : 1);
    folder[length ? length : 1] = 0;
    if (!realpath(folder, real))
        return 0;
    return snprintf(resolved, PATH_MAX, "%s/%s", strcmp(real, "/") ? real : "", part) < PATH_MAX;
}

/* The entry for a path, or NULL. Names are compared first, as resolving costs system calls and every open comes here. */
static const struct file *file_at(const char *path)
{
    char resolved[PATH_MAX] = "";
    int saved = errno;
    const struct file *found = NULL;
    for (size_t i = 0; path && !found && i < file_count; i++) {
        if (!ends_like(path, files[i].path))
            continue;
        if (!*resolved && !resolve(path, resolved))
            break;
        if (equal(files[i].path, resolved))
            found = &files[i];
    }
    errno = saved;
    return found;
}

static int path_of(int descriptor, char path[PATH_MAX])
{
    char link[40];
    ssize_t length;
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    length = readlink(link, path, PATH_MAX - 1);
    path[length < 0 ? 0 : length] = 0;
    return length > 0;
}

/* The errno with which reading this descriptor fails, or 0. */
static int read_failure(int descriptor)
{
    char path[PATH_MAX];
    int saved = errno, code = 0;
    if (some_fail_at_read && path_of(descriptor, path))
        for (size_t i = 0; !code && i < file_count; i++)
            if (files[i].kind == FAILS_AT_READ && equal(files[i].path, path))
                code = files[i].code;
    errno = saved;
    return code;
}

static int content_of(const struct file *file, int flags)
{
    int descriptor = memfd_create("simulated", flags & O_CLOEXEC ? MFD_CLOEXEC : 0);
    if (descriptor >= 0 && write_template(descriptor, &file->content, epoch) == 0)
        lseek(descriptor, 0, SEEK_SET);
    return descriptor;
}

/* Whether the table answers this open; then *descriptor is what open() returns. */
static int opened(const char *path, int flags, int *descriptor)
{
    const struct file *file = (flags & O_ACCMODE) == O_RDONLY && !(flags & (O_PATH | O_DIRECTORY)) ? file_at(path) : NULL;
    if (!file || file->kind == FAILS_AT_READ)
        return 0;
    if (file->kind == HANGS)
        hang();
    *descriptor = file->kind == CONTENT ? content_of(file, flags) : -1;
    if (file->kind == FAILS_AT_OPEN)
        errno = file->code;
    return 1;
}

#include "preload_files.h"
#include "preload_mounts.h"
