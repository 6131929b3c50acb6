/* A crew by Open MPI, which is opened at run time. Its interface has been the same since libmpi.so.40 (3.0, 2017):
 * handles are the addresses of objects that the library exports. Sums do not depend on how MPI would sum: every process
 * gets its slice from all others, adds in the order of the ranks, and hands the result round. */
#include <dlfcn.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/memory.h"
#include "learn/crew.h"

enum { MPI_OK = 0, FUNNELED = 1 };
static const int64_t PATIENCE = 300000000; /* ns that others have to answer, once somebody wants to quit */

typedef void *handle; /* of a communicator, a type, a request */

struct mpi {
    struct nm_crew crew;
    bool (*quit)(void);
    bool lost;
    uint32_t local; /* processes on this machine */
    char *slices, *sums;
    size_t room; /* bytes of each */
    handle world, bytes, returns;
    int (*init)(int *argc, char ***argv, int wanted, int *got);
    int (*finalize)(void);
    int (*set_errhandler)(handle comm, handle handler);
    int (*rank)(handle comm, int *rank);
    int (*size)(handle comm, int *size);
    int (*all_to_all)(const void *from, int n, handle type, void *to, int m, handle other, handle comm,
                      handle *request);
    int (*all_gather)(const void *from, int n, handle type, void *to, int m, handle other, handle comm,
                      handle *request);
    int (*broadcast)(void *at, int n, handle type, int root, handle comm, handle *request);
    int (*test)(handle *request, int *done, void *status);
};

/* Until the others have done their part; -1 if they do not. */
static int wait(struct mpi *m, int rc, handle *request)
{
    int64_t since = 0;
    int done = 0;
    for (uint32_t turns = 0; rc == MPI_OK && !done; turns++) {
        rc = m->test(request, &done, NULL);
        if (done || turns < 1000) continue;
        nanosleep(&(struct timespec){.tv_nsec = 50000}, NULL);
        if (!since && m->quit()) since = nm_clock();
        if (since && nm_clock() - since > PATIENCE) break;
    }
    m->lost = rc != MPI_OK || !done;
    return m->lost ? -1 : 0;
}

static void make_room(struct mpi *m, size_t bytes)
{
    if (bytes <= m->room) return;
    m->room = bytes;
    m->slices = nm_realloc(m->slices, bytes);
    m->sums = nm_realloc(m->sums, bytes);
}

/* Every process adds up its slice of n numbers; `add` adds one process's slice to the sum. */
static int sum(struct mpi *m, void *x, size_t n, size_t each, void (*add)(void *to, const void *from, size_t n))
{
    uint32_t size = m->crew.size;
    size_t share = (n + size - 1) / size, bytes = share * each;
    handle request;
    if (m->lost) return -1;
    make_room(m, bytes * size);
    memset(m->sums, 0, bytes * size);
    memcpy(m->sums, x, n * each);
    int rc = m->all_to_all(m->sums, (int)bytes, m->bytes, m->slices, (int)bytes, m->bytes, m->world, &request);
    if (wait(m, rc, &request)) return -1;
    for (uint32_t r = 1; r < size; r++) add(m->slices, m->slices + r * bytes, share);
    rc = m->all_gather(m->slices, (int)bytes, m->bytes, m->sums, (int)bytes, m->bytes, m->world, &request);
    if (wait(m, rc, &request)) return -1;
    memcpy(x, m->sums, n * each);
    return 0;
}

static void add_floats(void *to, const void *from, size_t n)
{
    for (size_t i = 0; i < n; i++) ((float *)to)[i] += ((const float *)from)[i];
}

static void add_doubles(void *to, const void *from, size_t n)
{
    for (size_t i = 0; i < n; i++) ((double *)to)[i] += ((const double *)from)[i];
}

static int sum_floats(struct nm_crew *crew, float *x, size_t n)
{
    return sum((struct mpi *)crew, x, n, sizeof *x, add_floats);
}

static int sum_doubles(struct nm_crew *crew, double *x, size_t n)
{
    return sum((struct mpi *)crew, x, n, sizeof *x, add_doubles);
}

static int share(struct nm_crew *crew, void *bytes, size_t n)
{
    struct mpi *m = (struct mpi *)crew;
    handle request;
    if (m->lost) return -1;
    return wait(m, m->broadcast(bytes, (int)n, m->bytes, 0, m->world, &request), &request);
}

/* ---- joining ---- */

static int open_library(struct mpi *m, struct nm_err *err)
{
    /* its own plug-ins look for its symbols; it stays open for good, as they do */
    void *library = dlopen("libmpi.so.40", RTLD_NOW | RTLD_GLOBAL);
    const struct {
        const char *name;
        void *to;
    } symbols[] = {
        {"ompi_mpi_comm_world", &m->world},
        {"ompi_mpi_byte", &m->bytes},
        {"ompi_mpi_errors_return", &m->returns},
        {"MPI_Init_thread", &m->init},
        {"MPI_Finalize", &m->finalize},
        {"MPI_Comm_set_errhandler", &m->set_errhandler},
        {"MPI_Comm_rank", &m->rank},
        {"MPI_Comm_size", &m->size},
        {"MPI_Ialltoall", &m->all_to_all},
        {"MPI_Iallgather", &m->all_gather},
        {"MPI_Ibcast", &m->broadcast},
        {"MPI_Test", &m->test},
    };
    if (!library) return nm_fail(err, "mpirun has started this process, but Open MPI cannot be loaded: %s", dlerror());
    for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++) {
        void *found = dlsym(library, symbols[i].name);
        if (!found) return nm_fail(err, "Open MPI (libmpi.so.40) has no %s", symbols[i].name);
        memcpy(symbols[i].to, &found, sizeof found);
    }
    return 0;
}

/* mpirun ties each process to one core or one socket; our threads want all of them. */
static void untie(void)
{
    cpu_set_t all;
    memset(&all, 0xff, sizeof all);
    sched_setaffinity(0, sizeof all, &all);
}

struct nm_crew *nm_crew_mpi(bool (*quit)(void), struct nm_err *err)
{
    const char *size = getenv("OMPI_COMM_WORLD_SIZE"), *local = getenv("OMPI_COMM_WORLD_LOCAL_SIZE");
    int rank = 0, n = 0, got;
    if (!size) return NULL;
    struct mpi *m = nm_calloc(1, sizeof *m);
    m->quit = quit;
    if (!open_library(m, err)) {
        untie();
        if (m->init(NULL, NULL, FUNNELED, &got) == MPI_OK && m->set_errhandler(m->world, m->returns) == MPI_OK &&
            m->rank(m->world, &rank) == MPI_OK && m->size(m->world, &n) == MPI_OK && rank >= 0 && n > 0) {
            m->crew = (struct nm_crew){(uint32_t)rank, (uint32_t)n, sum_floats, sum_doubles, share};
            long beside = local ? strtol(local, NULL, 10) : 1;
            m->local = beside > 0 && beside <= n ? (uint32_t)beside : 1;
            return &m->crew;
        }
        nm_fail(err, "Open MPI does not start: mpirun and libmpi.so.40 must be of the same version");
    }
    free(m);
    return NULL;
}

uint32_t nm_crew_on_this_machine(const struct nm_crew *crew) { return ((const struct mpi *)crew)->local; }

/* Without the rest: mpirun sees a process that ends without a word, and ends the others by SIGTERM. */
void nm_crew_leave(struct nm_crew *crew, bool together)
{
    struct mpi *m = (struct mpi *)crew;
    if (!m) return;
    if (together && !m->lost) m->finalize();
    free(m->slices);
    free(m->sums);
    free(m);
}
