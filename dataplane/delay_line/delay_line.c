/* delay_line: carry frames between pairs of interfaces, each a constant (or jittered) time later.
 *
 *     delay_line [--realtime] [--frames N] [--seed N] [--reorder] A,B,DELAY_US[,JITTER_US[,DELAY_US,JITTER_US]] ...
 *
 * What arrives at A leaves at B, and the other way round, DELAY_US microseconds after its arrival, plus a time drawn
 * uniformly from 0..JITTER_US; the second pair of numbers, when given, is that of the way from B to A.
 * A direction keeps its order (a frame never overtakes an earlier one) unless --reorder.
 * When A loses its carrier, B is set down until A has it again, and the other way round: so the far end of each sees
 * what it would see of one cable.
 *
 * Every interface has a packet socket with a receive ring (PACKET_RX_RING, TPACKET_V2) in shared memory. The kernel
 * stamps a frame when it arrives; the frame stays in its slot of the ring until it is due, and is sent from there. So
 * the ring is the queue of the line, --frames bounds its memory, and when it is full the kernel drops the newest frame
 * and counts it. All waiting frames stand in one heap by due time; one timer wakes for the first.
 *
 * Prints one JSON line when ready, one on SIGUSR1, and one at the end (SIGTERM, SIGINT); messages go to standard error.
 * Interfaces must have segmentation and checksum offloads switched off at their far ends: a frame above the MTU cannot
 * be sent on (counted in "truncated"), and a checksum that nobody fills in is wrong.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <linux/ethtool.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <linux/rtnetlink.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "state.h"

/* ---- frames */
static struct tpacket2_hdr *slot_header(const struct end *end, uint32_t slot)
{
    return (struct tpacket2_hdr *)(void *)(end->ring + (size_t)slot * end->frame_bytes);
}

/* When a frame is to leave, from the kernel's stamp of its arrival. Stamps are in CLOCK_REALTIME; only the frame's age
 * is taken from them, so setting the clock does not move what waits. */
static uint64_t due_ns(struct end *end, const struct tpacket2_hdr *header, uint64_t monotonic_ns, uint64_t real_ns)
{
    uint64_t stamp_ns = (uint64_t)header->tp_sec * SECOND_NS + header->tp_nsec;
    uint64_t age_ns = real_ns > stamp_ns && real_ns - stamp_ns < MAX_AGE_NS ? real_ns - stamp_ns : 0;
    uint64_t due = monotonic_ns - age_ns + end->delay_ns;
    if (end->jitter_ns)
        due += next_random() % (end->jitter_ns + 1);
    if (!reorder && due < end->last_due_ns)
        due = end->last_due_ns;
    return end->last_due_ns = due;
}

/* Take note of every frame that has arrived at an interface. */
static void collect(struct end *end)
{
    uint64_t monotonic_ns = now_ns(CLOCK_MONOTONIC), real_ns = now_ns(CLOCK_REALTIME);
    while (!end->held[end->next_slot]) {
        struct tpacket2_hdr *header = slot_header(end, end->next_slot);
        if (!(__atomic_load_n(&header->tp_status, __ATOMIC_ACQUIRE) & TP_STATUS_USER))
            return;
        end->held[end->next_slot] = 1;
        heap_push((struct waiting){due_ns(end, header, monotonic_ns, real_ns), frames_seen++,
                                   (uint32_t)(end - ends), end->next_slot});
        end->next_slot = (end->next_slot + 1) % ring_frames;
    }
}

/* Put an 802.1Q tag back where the kernel took it from; the ring's reserve leaves room in front. */
static uint8_t *retag(const struct tpacket2_hdr *header, uint8_t *frame)
{
    uint16_t tpid = header->tp_status & TP_STATUS_VLAN_TPID_VALID ? header->tp_vlan_tpid : ETH_P_8021Q;
    uint16_t words[2] = {htons(tpid), htons(header->tp_vlan_tci)};
    memmove(frame - TAG_BYTES, frame, 2 * ETH_ALEN);
    memcpy(frame - TAG_BYTES + 2 * ETH_ALEN, words, sizeof words);
    return frame - TAG_BYTES;
}

static void send_frame(const struct waiting *entry)
{
    struct end *end = &ends[entry->end];
    struct tpacket2_hdr *header = slot_header(end, entry->slot);
    uint8_t *frame = (uint8_t *)header + header->tp_mac;
    size_t length = header->tp_snaplen;
    uint64_t late_ns = now_ns(CLOCK_MONOTONIC) - entry->due_ns;
    if (header->tp_snaplen < header->tp_len) {
        end->truncated++;
    } else {
        if (header->tp_status & TP_STATUS_VLAN_VALID) {
            frame = retag(header, frame);
            length += TAG_BYTES;
        }
        ssize_t sent = send(end->other->socket, frame, length, MSG_DONTWAIT);
        if (sent < 0 && errno == ENETDOWN) /* perhaps the note of an outage that is over, which this took away */
            sent = send(end->other->socket, frame, length, MSG_DONTWAIT);
        if (sent == (ssize_t)length)
            end->relayed++;
        else
            end->send_failed++; /* the other interface is down, or its queue is full: lost, as on a line */
        late_us[late_ns / 1000 < LATE_BUCKETS ? late_ns / 1000 : LATE_BUCKETS]++;
        if (late_ns > late_max_ns)
            late_max_ns = late_ns;
    }
    end->held[entry->slot] = 0;
    __atomic_store_n(&header->tp_status, TP_STATUS_KERNEL, __ATOMIC_RELEASE);
}

/* ---- set-up */
static uint32_t frame_bytes(int socket, const char *name)
{
    struct ifreq request = {0};
    strcpy(request.ifr_name, name);
    if (ioctl(socket, SIOCGIFMTU, &request) != 0)
        fail("cannot ask for the MTU of", name);
    uint32_t bytes = 2048;
    while (bytes < (uint32_t)request.ifr_mtu + ETH_HLEN + TAG_BYTES + HEADER_ROOM)
        bytes *= 2;
    return bytes;
}

static void set_option(const struct end *end, int name, const void *value, socklen_t bytes)
{
    if (setsockopt(end->socket, SOL_PACKET, name, value, bytes) != 0)
        fail("the kernel refuses a packet ring on", end->name);
}

static void open_end(struct end *end)
{
    /* Protocol 0 receives nothing yet, so that no frame slips past the ring. */
    end->socket = socket(AF_PACKET, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (end->socket < 0)
        fail("cannot open a packet socket for", end->name);
    end->frame_bytes = frame_bytes(end->socket, end->name);
    int version = TPACKET_V2, reserve = TAG_BYTES, one = 1;
    set_option(end, PACKET_VERSION, &version, sizeof version);
    set_option(end, PACKET_RESERVE, &reserve, sizeof reserve);
    set_option(end, PACKET_IGNORE_OUTGOING, &one, sizeof one);
    uint32_t block_bytes = end->frame_bytes < 16384 ? 16384 : end->frame_bytes;
    uint32_t blocks = ring_frames / (block_bytes / end->frame_bytes);
    struct tpacket_req ring = {block_bytes, blocks, end->frame_bytes, ring_frames};
    set_option(end, PACKET_RX_RING, &ring, sizeof ring);
    end->ring = mmap(NULL, (size_t)block_bytes * blocks, PROT_READ | PROT_WRITE, MAP_SHARED, end->socket, 0);
    if (end->ring == MAP_FAILED || !(end->held = calloc(ring_frames, 1)))
        fail("no memory for the ring of", end->name);
    struct sockaddr_ll address = {.sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL)};
    address.sll_ifindex = (int)if_nametoindex(end->name);
    if (bind(end->socket, (struct sockaddr *)&address, sizeof address) != 0)
        fail("cannot listen on", end->name);
}

static uint64_t read_delay_ns(const char *word, const char *pair)
{
    char *rest;
    double delay_us = strtod(word, &rest);
    if (*rest || !(delay_us >= 0 && delay_us <= 60e6))
        usage("a delay is not a number of microseconds from 0 to 60000000 in", pair);
    return (uint64_t)(delay_us * 1000);
}

/* A,B,DELAY_US[,JITTER_US[,DELAY_US,JITTER_US]] */
static void read_pair(struct end *pair, char *text)
{
    char whole[160], *rest = NULL, *words[7];
    int count = 0;
    snprintf(whole, sizeof whole, "%s", text);
    for (char *word = strtok_r(text, ",", &rest); word && count < 7; word = strtok_r(NULL, ",", &rest))
        words[count++] = word;
    if (count < 3 || count == 5 || count == 7 || strlen(words[0]) >= IFNAMSIZ || strlen(words[1]) >= IFNAMSIZ)
        usage("cannot read the pair", whole);
    for (int side = 0; side < 2; side++) {
        int at = side && count == 6 ? 4 : 2;
        strcpy(pair[side].name, words[side]);
        pair[side].other = &pair[1 - side];
        pair[side].delay_ns = read_delay_ns(words[at], whole);
        pair[side].jitter_ns = count > 3 ? read_delay_ns(words[at + 1], whole) : 0;
    }
}

static uint64_t whole_number(const char *text, uint64_t highest)
{
    char *rest = "x";
    uint64_t value = 0;
    errno = 0;
    if (text && *text >= '0' && *text <= '9')
        value = strtoull(text, &rest, 10);
    if (errno || *rest || value > highest)
        usage("not a whole number in range:", text ? text : "(missing)");
    return value;
}

static void read_arguments(int count, char **words)
{
    ends = calloc(2 * (size_t)count, sizeof *ends);
    for (int at = 1; at < count; at++) {
        if (!strcmp(words[at], "--realtime"))
            realtime = true;
        else if (!strcmp(words[at], "--reorder"))
            reorder = true;
        else if (!strcmp(words[at], "--frames"))
            /* A multiple of 8, so that frames fill their blocks. */
            ring_frames = ((uint32_t)whole_number(at + 1 < count ? words[at + 1] : NULL, 65536) + 7) / 8 * 8, at++;
        else if (!strcmp(words[at], "--seed"))
            random_state = whole_number(at + 1 < count ? words[at + 1] : NULL, UINT64_MAX), at++;
        else if (words[at][0] == '-')
            usage("unknown option", words[at]);
        else
            read_pair(&ends[end_count], words[at]), end_count += 2;
    }
    if (!end_count || !ring_frames)
        usage("nothing to carry:", end_count ? "--frames 0" : "no pair");
}

/* ---- counters */
static double late_quantile_us(double share)
{
    uint64_t total = 0;
    size_t at = 0;
    for (size_t each = 0; each <= LATE_BUCKETS; each++)
        total += late_us[each];
    for (uint64_t seen = late_us[0]; (double)seen < share * (double)total; seen += late_us[++at])
        ;
    return (double)at;
}

static void print_counters(const char *event)
{
    printf("{\"event\": \"%s\", \"realtime\": %s, \"waiting\": %zu, ", event, realtime ? "true" : "false", heap_size);
    printf("\"late_us\": {\"p50\": %g, \"p99\": %g, \"max\": %g}, \"directions\": [", late_quantile_us(0.5),
           late_quantile_us(0.99), (double)late_max_ns / 1000);
    for (struct end *end = ends; end < ends + end_count; end++) {
        struct tpacket_stats fresh = {0}; /* the kernel starts again at zero after each question */
        socklen_t bytes = sizeof fresh;
        if (getsockopt(end->socket, SOL_PACKET, PACKET_STATISTICS, &fresh, &bytes) == 0)
            end->ring_full += fresh.tp_drops;
        printf("%s{\"from\": \"%s\", \"to\": \"%s\", \"delay_us\": %g, ", end == ends ? "" : ", ", end->name,
               end->other->name, (double)end->delay_ns / 1000);
        printf("\"relayed\": %ju, \"ring_full\": %ju, \"send_failed\": %ju, \"truncated\": %ju}",
               (uintmax_t)end->relayed, (uintmax_t)end->ring_full, (uintmax_t)end->send_failed, (uintmax_t)end->truncated);
    }
    printf("]}\n");
    fflush(stdout);
}

/* ---- carriers */
static bool flags_of(int socket, const struct end *end, int *flags)
{
    struct ifreq request = {0};
    strcpy(request.ifr_name, end->name);
    if (ioctl(socket, SIOCGIFFLAGS, &request) != 0)
        return false;
    *flags = (unsigned short)request.ifr_flags;
    return true;
}

/* The carrier as it is now; IFF_RUNNING tells of one that has just come or gone a little later. */
static bool has_carrier(int socket, const struct end *end)
{
    struct ethtool_value link = {.cmd = ETHTOOL_GLINK};
    struct ifreq request = {.ifr_data = (void *)&link};
    strcpy(request.ifr_name, end->name);
    return ioctl(socket, SIOCETHTOOL, &request) == 0 && link.data;
}

static void set_up(int socket, const struct end *end, int flags, bool up)
{
    struct ifreq request = {0};
    strcpy(request.ifr_name, end->name);
    request.ifr_flags = (short)(up ? flags | IFF_UP : flags & ~IFF_UP);
    if (ioctl(socket, SIOCSIFFLAGS, &request) != 0)
        fprintf(stderr, "delay_line: cannot pass the carrier on to %s: %s\n", end->name, strerror(errno));
}

/* An end that is up itself tells by its carrier what the other shall be. One of a pair is always up. */
static void pass_carriers_on(int socket)
{
    for (struct end *end = ends; end < ends + end_count; end++) {
        int own, others;
        if (!flags_of(socket, end, &own) || !flags_of(socket, end->other, &others) || !(own & IFF_UP))
            continue;
        bool carrier = own & IFF_RUNNING, other_up = others & IFF_UP;
        if (carrier != other_up && has_carrier(socket, end) != other_up)
            set_up(socket, end->other, others, !other_up);
    }
}

/* In a thread of its own: to set an interface down takes the kernel some ten milliseconds. */
static void *watch_carriers(void *unused)
{
    char message[16384];
    struct sockaddr_nl address = {.nl_family = AF_NETLINK, .nl_groups = RTMGRP_LINK};
    int netlink = socket(AF_NETLINK, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, NETLINK_ROUTE);
    int control = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (netlink < 0 || control < 0 || bind(netlink, (struct sockaddr *)&address, sizeof address) != 0)
        fail("cannot watch", "carriers");
    struct pollfd news = {.fd = netlink, .events = POLLIN};
    for (;;) {
        pass_carriers_on(control);
        if (poll(&news, 1, CARRIER_POLL_MS) > 0)
            while (recv(netlink, message, sizeof message, 0) > 0)
                ;
    }
    return unused;
}

/* ---- the loop */
/* Edge-triggered: a ring is "readable" as long as it holds a frame, also one that is only waiting. */
static int watch(int epoll, int descriptor, void *data)
{
    struct epoll_event event = {.events = EPOLLIN | EPOLLET, .data.ptr = data};
    if (descriptor < 0 || epoll_ctl(epoll, EPOLL_CTL_ADD, descriptor, &event) != 0)
        fail("cannot wait for", "frames");
    return descriptor;
}

/* Print counters for every SIGUSR1; tell whether to go on. */
static bool heed_signals(int signals)
{
    struct signalfd_siginfo caught;
    while (read(signals, &caught, sizeof caught) == sizeof caught) {
        if (caught.ssi_signo != SIGUSR1)
            return false;
        print_counters("counters");
    }
    return true;
}

static void run(int signals)
{
    static char timer_mark, signal_mark;
    struct epoll_event events[64];
    int epoll = epoll_create1(EPOLL_CLOEXEC);
    int timer = watch(epoll, timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC), &timer_mark);
    watch(epoll, signals, &signal_mark);
    for (struct end *end = ends; end < ends + end_count; end++)
        watch(epoll, end->socket, end);
    print_counters("ready");
    for (bool going = true; going;) {
        int count = epoll_wait(epoll, events, 64, -1);
        for (int at = 0; at < count; at++) {
            if (events[at].data.ptr == &signal_mark)
                going = heed_signals(signals);
            else if (events[at].data.ptr != &timer_mark)
                collect(events[at].data.ptr);
        }
        /* A batch at a time, so that under overload no ring is left unread; an alarm in the past rings at once. */
        for (int sent = 0; sent < BATCH && heap_size && heap[0].due_ns <= now_ns(CLOCK_MONOTONIC); sent++) {
            struct waiting first = heap_pop();
            send_frame(&first);
        }
        if (heap_size) {
            uint64_t due = heap[0].due_ns;
            struct itimerspec alarm = {.it_value = {(time_t)(due / SECOND_NS), (long)(due % SECOND_NS)}};
            timerfd_settime(timer, TFD_TIMER_ABSTIME, &alarm, NULL);
        }
    }
    print_counters("end");
}

int main(int count, char **words)
{
    sigset_t caught;
    sigemptyset(&caught);
    sigaddset(&caught, SIGINT);
    sigaddset(&caught, SIGTERM);
    sigaddset(&caught, SIGUSR1);
    sigprocmask(SIG_BLOCK, &caught, NULL);
    read_arguments(count, words);
    heap = calloc(end_count * ring_frames, sizeof *heap);
    if (!heap)
        fail("no memory for", "the queue");
    for (size_t at = 0; at < end_count; at++)
        open_end(&ends[at]);
    pthread_t carriers; /* before real-time priority, which it does not need */
    if (pthread_create(&carriers, NULL, watch_carriers, NULL) != 0)
        fail("no thread to watch", "carriers");
    realtime = realtime && sched_setscheduler(0, SCHED_FIFO, &(struct sched_param){REALTIME_PRIORITY}) == 0;
    run(signalfd(-1, &caught, SFD_NONBLOCK | SFD_CLOEXEC));
    return 0;
}
