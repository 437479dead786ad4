/* sqr: keep the bytes of every protected packet for a while, and see a failed port by the send that fails (SQR).
 *
 * The program stands on the ingress of a virtual port in front of the primary port. While the port is up a packet is
 * copied into the ring and sent on. When the port fails, packets are appended behind the window that the agent replays
 * by the backup, so that nothing overtakes; once nothing waits they are sent by the backup directly. The pure model is
 * dataplane/model/byte_ring.py; the ring's bytes are dataplane/model/slots.py.
 */
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/pkt_cls.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "sqr.h"

#define TAG_BYTES 4               /* an 802.1Q tag, which the kernel keeps beside a packet's bytes */
#define ADDRESSES 12              /* a tag stands behind both Ethernet addresses */
#define VLAN_ID 0x0fff
#define FRAGMENT_OFFSET 0x1fff
#define CHOSEN_ENTRIES 4096
#define NOT_CACHED (-1)

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, 1);
    __uint(map_flags, BPF_F_MMAPABLE);
    __type(key, __u32);
    __type(value, struct slot);
} ring SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, 1);
    __uint(map_flags, BPF_F_MMAPABLE);
    __type(key, __u32);
    __type(value, struct control);
} controls SEC(".maps");

/* Keys are kind << 16 | value. */
struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, CHOSEN_ENTRIES);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __type(key, __u32);
    __type(value, __u32);
} chosen SEC(".maps");

static __always_inline void count(__u64 *counter)
{
    __sync_fetch_and_add(counter, 1);
}

static __always_inline __u64 read_now(const __u64 *place)
{
    return *(const volatile __u64 *)place;
}

static __always_inline int is_chosen(__u32 kind, __u32 value)
{
    __u32 key = kind << 16 | value;
    return bpf_map_lookup_elem(&chosen, &key) != 0;
}

/* Whether a packet is protected: any of the kinds that are asked for may choose it. */
static __always_inline int is_protected(struct __sk_buff *skb, __u32 choose)
{
    struct iphdr ip;
    __u16 transport[2];
    if (!choose || (choose & CHOOSE_VLAN && skb->vlan_present && is_chosen(CHOOSE_VLAN, skb->vlan_tci & VLAN_ID)))
        return 1;
    if (skb->protocol != bpf_htons(ETH_P_IP) || bpf_skb_load_bytes(skb, ETH_HLEN, &ip, sizeof ip) || ip.version != 4)
        return 0;
    if (choose & CHOOSE_DSCP && is_chosen(CHOOSE_DSCP, ip.tos >> 2))
        return 1;
    if (!(choose & CHOOSE_TCP_PORT) || ip.protocol != IPPROTO_TCP || ip.frag_off & bpf_htons(FRAGMENT_OFFSET) ||
        bpf_skb_load_bytes(skb, ETH_HLEN + ip.ihl * 4, transport, sizeof transport))
        return 0;
    return is_chosen(CHOOSE_TCP_PORT, bpf_ntohs(transport[0])) || is_chosen(CHOOSE_TCP_PORT, bpf_ntohs(transport[1]));
}

/* ---- the ring */
/* Copy the frame as it is on the wire; a tag that the kernel took out goes back to its place. */
static __always_inline int copy_frame(struct __sk_buff *skb, struct slot *slot, __u32 length)
{
    if (!skb->vlan_present)
        return bpf_skb_load_bytes(skb, 0, slot->data, length);
    __u16 tag[2] = {skb->vlan_proto, bpf_htons(skb->vlan_tci)};
    __builtin_memcpy(slot->data + ADDRESSES, tag, sizeof tag);
    if (length <= ADDRESSES || length > SLOT_DATA - TAG_BYTES || bpf_skb_load_bytes(skb, 0, slot->data, ADDRESSES))
        return NOT_CACHED;
    __u32 rest = length - ADDRESSES;
    asm volatile("" : "+r"(rest));
    if (rest == 0 || rest > SLOT_DATA - TAG_BYTES - ADDRESSES)
        return NOT_CACHED;
    return bpf_skb_load_bytes(skb, ADDRESSES, slot->data + ADDRESSES + TAG_BYTES, rest);
}

/* Count what the packet of this slot is overwritten before: its delta, or its replay. While a port turns, its tail is
 * still that of the replay before. */
static __always_inline void count_overwritten(struct control *port, __u64 old_seq, __u64 old_ns, __u64 now_ns)
{
    __u32 state = *(volatile __u32 *)&port->state;
    if (!old_seq)
        return;
    if (state == STATE_UP || state == STATE_TURNING) {
        if (old_seq > port->floor && old_ns + port->delta_ns >= now_ns)
            count(&port->young);
    } else if (old_seq > read_now(&port->tail)) {
        count(&port->pending);
    }
}

/* Whether a packet can stand in a slot, counted if not. */
static __always_inline int fits(const struct __sk_buff *skb, struct control *port)
{
    if (skb->gso_size) {
        count(&port->gso);
        return 0;
    }
    if (skb->len + (skb->vlan_present ? TAG_BYTES : 0) > SLOT_DATA) {
        count(&port->too_big);
        return 0;
    }
    return 1;
}

/* Write a packet that fits over the oldest slot; 0, or NOT_CACHED. */
static __always_inline int append(struct __sk_buff *skb, struct control *port)
{
    __u32 length = skb->len, tagged = skb->vlan_present ? TAG_BYTES : 0;
    /* For the verifier, which has to see the bounds of what is copied. */
    asm volatile("" : "+r"(length));
    if (length < SHORTEST_FRAME || length > SLOT_DATA)
        return NOT_CACHED;
    __u64 tag = __sync_fetch_and_add(&port->head, 1), now_ns = bpf_ktime_get_ns();
    __u32 key = tag & port->mask;
    struct slot *slot = bpf_map_lookup_elem(&ring, &key);
    if (!slot)
        return NOT_CACHED;
    count_overwritten(port, __sync_lock_test_and_set(&slot->seq, 0), slot->sent_ns, now_ns);
    slot->sent_ns = now_ns;
    slot->length = length + tagged;
    if (copy_frame(skb, slot, length))
        slot->length = 0; /* the tag is given, so the slot must be committed; the agent passes over it */
    __sync_lock_test_and_set(&slot->seq, tag + 1);
    count(&port->cached);
    __sync_fetch_and_add(&port->cached_bytes, length + tagged);
    return 0;
}

/* ---- what becomes of a packet */
/* "Stolen" is the kernel's word for a packet that is taken care of elsewhere; it is not counted as dropped. */
/* The primary has refused a packet: begin to hold, once, with the packets before it as the window. */
static __always_inline void turn(struct control *port)
{
    count(&port->send_failed);
    if (__sync_val_compare_and_swap(&port->state, STATE_UP, STATE_TURNING) != STATE_UP)
        return;
    __u64 head = read_now(&port->head), back = port->margin + 1ULL, slots = port->mask + 1ULL;
    if (back > slots)
        back = slots;
    __u64 first = head > back ? head - back : 0;
    if (first < port->floor)
        first = port->floor;
    port->ready = 0;
    port->source = SOURCE_SEND;
    port->detected_ns = bpf_ktime_get_ns();
    __sync_lock_test_and_set(&port->tail, first);
    __sync_lock_test_and_set(&port->state, STATE_HOLD);
}

static __always_inline int while_up(struct __sk_buff *skb, struct control *port)
{
    int cached = NOT_CACHED;
    if (fits(skb, port)) {
        if (port->paused)
            count(&port->unprotected);
        else
            cached = append(skb, port);
    }
    if (port->in_send == IN_SEND_NEVER)
        return bpf_redirect(port->primary, 0);
    /* Only the cloning helper says whether the packet was sent. */
    long refused = bpf_clone_redirect(skb, port->primary, 0);
    if (refused > 0 && port->in_send == IN_SEND_ERRORS)
        count(&port->queue_full);
    if (!refused || (refused > 0 && port->in_send == IN_SEND_ERRORS))
        return TC_ACT_STOLEN;
    turn(port);
    return cached == 0 ? TC_ACT_STOLEN : bpf_redirect(port->backup, 0);
}

static __always_inline int while_holding(struct __sk_buff *skb, struct control *port)
{
    if (!fits(skb, port))
        return bpf_redirect(port->backup, 0);
    if (port->ready && read_now(&port->tail) == read_now(&port->head)) {
        count(&port->direct);
        return bpf_redirect(port->backup, 0);
    }
    if (append(skb, port))
        return bpf_redirect(port->backup, 0);
    count(&port->held);
    return TC_ACT_STOLEN;
}

SEC("tc")
int sqr(struct __sk_buff *skb)
{
    __u32 only = 0;
    struct control *port = bpf_map_lookup_elem(&controls, &only);
    if (!port)
        return TC_ACT_OK;
    __u32 state = *(volatile __u32 *)&port->state;
    if (!is_protected(skb, port->choose)) {
        count(&port->other);
        return bpf_redirect(state == STATE_UP ? port->primary : port->backup, 0);
    }
    if (state == STATE_UP)
        return while_up(skb, port);
    if (state == STATE_BACKUP) {
        count(&port->direct);
        return bpf_redirect(port->backup, 0);
    }
    return while_holding(skb, port);
}

/* None of the helpers that are called here asks for the GPL. */
char LICENSE[] SEC("license") = "Apache-2.0";
