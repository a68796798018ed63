/* statvfs and statfs of simulated mounts, as the preloaded library answers them; part of preload.c. */

/* The mount that a path lies on: the longest entry that is the path or a folder above it. */
static const struct mount *mount_at(const char *path)
{
    char real[PATH_MAX];
    int saved = errno;
    const struct mount *found = NULL;
    if (mount_count && path && (realpath(path, real) || resolve(path, real)))
        for (size_t i = 0; i < mount_count; i++) {
            struct bytes root = mounts[i].path;
            size_t length = root.length > 1 ? root.length : 0;
            if (!strncmp(real, root.at, length) && (real[length] == '/' || !real[length]) && (!found || length >= found->path.length))
                found = &mounts[i];
        }
    errno = saved;
    return found;
}

static const struct mount *mount_of(int descriptor)
{
    char path[PATH_MAX];
    return mount_count && path_of(descriptor, path) ? mount_at(path) : NULL;
}

/* Hangs where the mount does; true where it fails, with errno set. */
static int fails(const struct mount *mount)
{
    if (mount->hangs)
        hang();
    if (mount->code)
        errno = mount->code;
    return mount->code != 0;
}

#define GIVE(which, member) \
    if (mount->given[which]) \
        status->member = value_now(&mount->values[which], epoch);

#define COMMON_VALUES \
    GIVE(BSIZE, f_bsize) GIVE(FRSIZE, f_frsize) GIVE(BLOCKS, f_blocks) GIVE(BFREE, f_bfree) GIVE(BAVAIL, f_bavail) \
    GIVE(FILES, f_files) GIVE(FFREE, f_ffree)
#define STATVFS_VALUES COMMON_VALUES GIVE(FAVAIL, f_favail) GIVE(FLAG, f_flag) GIVE(NAMEMAX, f_namemax)
#define STATFS_VALUES COMMON_VALUES GIVE(FLAG, f_flags) GIVE(NAMEMAX, f_namelen)

/* Values that the table does not give are those of the file system below. */
#define STATUS_CALL(name, type, key_type, lookup, VALUES_OF) \
    int name(key_type key, struct type *status) \
    { \
        const struct mount *mount = lookup(key); \
        int result; \
        if (mount && fails(mount)) \
            return -1; \
        result = NEXT(name)(key, status); \
        if (!mount) \
            return result; \
        if (result) \
            memset(status, 0, sizeof *status); \
        VALUES_OF \
        return 0; \
    }

STATUS_CALL(statvfs, statvfs, const char *, mount_at, STATVFS_VALUES)
STATUS_CALL(statvfs64, statvfs64, const char *, mount_at, STATVFS_VALUES)
STATUS_CALL(fstatvfs, statvfs, int, mount_of, STATVFS_VALUES)
STATUS_CALL(fstatvfs64, statvfs64, int, mount_of, STATVFS_VALUES)
STATUS_CALL(statfs, statfs, const char *, mount_at, STATFS_VALUES)
STATUS_CALL(statfs64, statfs64, const char *, mount_at, STATFS_VALUES)
STATUS_CALL(fstatfs, statfs, int, mount_of, STATFS_VALUES)
STATUS_CALL(fstatfs64, statfs64, int, mount_of, STATFS_VALUES)
