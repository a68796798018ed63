/* Any command of a simulated node: installed as bin/NAME, it answers from bin/.commands/NAME.table.
 *
 * Table: epoch, number of entries, and for each: number of words, words, stdout, stderr, exit status, whether it hangs.
 * An entry fits when all its words are among the arguments; of those that fit the one with most words answers, of equals the
 * later. A command that hangs writes its output first: half an answer is what a stuck tool leaves.
 */
#define _GNU_SOURCE
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <sys/auxv.h>

#include "template.h"

struct entry { size_t words; struct template out, err; int status, hangs, fits; };

static int among(struct bytes word, char **arguments)
{
    for (; *arguments; arguments++)
        if (strlen(*arguments) == word.length && !memcmp(*arguments, word.at, word.length))
            return 1;
    return 0;
}

static struct entry read_entry(struct cursor *cursor, char **arguments)
{
    struct entry entry = {.words = read_number(cursor), .fits = 1};
    for (size_t i = 0; i < entry.words; i++)
        entry.fits &= among(read_bytes(cursor), arguments);
    entry.out = read_template(cursor);
    entry.err = read_template(cursor);
    entry.status = (int)read_number(cursor);
    entry.hangs = read_number(cursor) != 0;
    return entry;
}

static int not_simulated(const char *name, char **arguments)
{
    fprintf(stderr, "%s: not simulated:", name);
    for (; *arguments; arguments++)
        fprintf(stderr, " %s", *arguments);
    fputc('\n', stderr);
    return 127;
}

int main(int count, char **arguments)
{
    /* The path given to execve: argv[0] is the caller's to choose, and /proc/self/exe would follow a symbolic link. */
    const char *self = (const char *)getauxval(AT_EXECFN);
    char folder[PATH_MAX], file[PATH_MAX], path[2 * PATH_MAX + 32];
    struct entry best = {.fits = 0};
    snprintf(folder, sizeof folder, "%s", self ? self : arguments[0]);
    snprintf(file, sizeof file, "%s", folder);
    const char *name = basename(file);
    snprintf(path, sizeof path, "%s/.commands/%s.table", dirname(folder), name);
    struct cursor cursor = read_table(path);
    double epoch = read_double(&cursor);
    size_t entries = read_number(&cursor);
    char **rest = arguments + (count > 0);
    for (size_t i = 0; i < entries; i++) {
        struct entry entry = read_entry(&cursor, rest);
        if (entry.fits && (!best.fits || entry.words >= best.words))
            best = entry;
    }
    if (!best.fits)
        return not_simulated(name, rest);
    write_template(STDOUT_FILENO, &best.out, epoch);
    write_template(STDERR_FILENO, &best.err, epoch);
    if (best.hangs)
        hang();
    return best.status;
}
