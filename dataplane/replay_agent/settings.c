/* The command line, and the ports that it names: maps, interfaces, sockets. */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/bpf.h>
#include <linux/if_packet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "agent.h"

#define USAGE "[--poll-us N] [--realtime] [--pause-above BYTES --resume-below BYTES] CONTROL_ID,RING_ID ..."

void fail(const char *what, const char *which)
{
    fprintf(stderr, "sqr_agent: %s %s: %s\n", what, which, strerror(errno));
    exit(1);
}

_Noreturn static void usage(const char *complaint, const char *word)
{
    fprintf(stderr, "sqr_agent: %s %s; use: sqr_agent " USAGE "\n", complaint, word);
    exit(2);
}

uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * SECOND_NS + (uint64_t)now.tv_nsec;
}

static int map_by_id(uint32_t id)
{
    union bpf_attr attributes = {.map_id = id};
    return (int)syscall(SYS_bpf, BPF_MAP_GET_FD_BY_ID, &attributes, sizeof attributes);
}

static uint32_t entries_of(int map)
{
    struct bpf_map_info info = {0};
    union bpf_attr attributes = {.info = {.bpf_fd = (uint32_t)map, .info_len = sizeof info, .info = (uintptr_t)&info}};
    return syscall(SYS_bpf, BPF_OBJ_GET_INFO_BY_FD, &attributes, sizeof attributes) == 0 ? info.max_entries : 0;
}

static void *map_memory(int map, size_t bytes, const char *word)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    void *memory = mmap(NULL, (bytes + page - 1) / page * page, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, map, 0);
    if (memory == MAP_FAILED)
        fail("cannot map the memory of", word);
    close(map); /* the mapping holds the map */
    return memory;
}

static void name_interface(uint32_t index, char *name, const char *word)
{
    if (!if_indextoname(index, name))
        fail("there is no such interface in this network namespace for", word);
}

static void open_port(struct port *port, const char *word)
{
    char *rest;
    unsigned long control_id = strtoul(word, &rest, 10), ring_id = *rest == ',' ? strtoul(rest + 1, &rest, 10) : 0;
    if (*rest || !control_id || !ring_id)
        usage("not CONTROL_ID,RING_ID:", word);
    int control = map_by_id((uint32_t)control_id), ring = map_by_id((uint32_t)ring_id);
    if (control < 0 || ring < 0)
        fail("there are no maps of these ids:", word);
    port->slots = entries_of(ring);
    port->ring = map_memory(ring, port->slots * sizeof *port->ring, word);
    port->control = map_memory(control, sizeof *port->control, word);
    if (!port->slots || port->control->mask != port->slots - 1)
        usage("the control block is not of this ring:", word);
    name_interface(port->control->primary, port->primary, word);
    name_interface(port->control->backup, port->backup, word);
    port->pace_ns = port->control->pace_ns;
    port->running = has_carrier(port->primary);
    for (size_t at = 0; at < SAMPLES; at++)
        port->samples[at] = (struct sample){now_ns(), port->control->cached_bytes};
    struct sockaddr_ll address = {.sll_family = AF_PACKET, .sll_ifindex = (int)port->control->backup};
    /* Protocol 0 receives nothing. The queue of the interface is kept: it has the link's capacity. */
    port->socket = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
    if (port->socket < 0 || bind(port->socket, (struct sockaddr *)&address, sizeof address) != 0)
        fail("cannot send by", port->backup);
}

static uint64_t whole_number(const char *text)
{
    char *rest = "x";
    uint64_t value = 0;
    errno = 0;
    if (text && *text >= '0' && *text <= '9')
        value = strtoull(text, &rest, 10);
    if (errno || *rest)
        usage("not a whole number:", text ? text : "(missing)");
    return value;
}

struct settings read_arguments(int count, char **words)
{
    struct settings given = {.poll_ns = 1000000};
    given.ports = calloc((size_t)count, sizeof *given.ports);
    if (!given.ports)
        fail("no memory for", "the ports");
    for (int at = 1; at < count; at++) {
        const char *next = at + 1 < count ? words[at + 1] : NULL;
        if (!strcmp(words[at], "--realtime"))
            given.realtime = true;
        else if (!strcmp(words[at], "--poll-us"))
            given.poll_ns = whole_number(next) * 1000, at++;
        else if (!strcmp(words[at], "--pause-above"))
            given.pause_above = whole_number(next), at++;
        else if (!strcmp(words[at], "--resume-below"))
            given.resume_below = whole_number(next), at++;
        else if (words[at][0] == '-')
            usage("unknown option", words[at]);
        else
            open_port(&given.ports[given.port_count++], words[at]);
    }
    if (!given.port_count || !given.poll_ns)
        usage("nothing to do:", given.poll_ns ? "no port" : "--poll-us 0");
    if (given.pause_above ? !given.resume_below || given.resume_below > given.pause_above : given.resume_below)
        usage("caching resumes below what it pauses above:", "--pause-above, --resume-below");
    return given;
}
