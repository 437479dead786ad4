/* protect: 1+1 protection at one node (P4-Protect, sections 3.2 to 3.5 and 5.3), on the ingress of its interfaces.
 *
 * A packet goes through the paper's three steps: is it a protected one for this node (Decaps-IP, Decaps-P), does it
 * belong to a protected flow (Protect&Forward), else it is forwarded as it is. On the hairpin port beside an OpenFlow
 * bridge everything returns to where it came from; the bridge matches flows (and says which connection with a VLAN
 * tag) and makes the copies. Without a bridge the program sends plain packets and both copies itself.
 *
 * A packet that is not wholly right changes no state of a connection. The pure model is dataplane/model.
 */
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/pkt_cls.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "protect.h"

#define OVERHEAD 28
#define NEXT_IPV4 4
#define SHORTEST_TCP 20
#define SHORTEST_UDP 8
#define FRAGMENT 0x3fff           /* more fragments, or an offset */
#define FRAGMENT_OFFSET 0x1fff
#define DONT_FRAGMENT 0x4000
#define VLAN_ID 0x0fff
#define LONGEST_PACKET 0xffff
#define ROOM_FLAGS (BPF_F_ADJ_ROOM_FIXED_GSO | BPF_F_ADJ_ROOM_NO_CSUM_RESET)
#define ONE_AND_ALL 0

enum outcome { NOT_OURS, DONE, REFUSED };

struct protection {
    __u8 connection[3];
    __u8 number[4];
    __u8 next;
};

struct headers {
    struct iphdr ip;
    struct protection protection;
};

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, 1);
    __type(key, __u32);
    __type(value, struct node);
} nodes SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, MAX_PORTS);
    __type(key, __u32);
    __type(value, struct port);
} ports SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, MAX_SLOTS);
    __type(key, __u32);
    __type(value, struct sending);
} sends SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, MAX_RECEIVING);
    __type(key, __u32);
    __type(value, struct receiving);
} receives SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, 2);
    __type(key, __u32);
    __type(value, struct flow_table);
} flows SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, 1);
    __type(key, __u32);
    __type(value, struct totals);
} totals SEC(".maps");

static __always_inline void count(__u64 *counter)
{
    __sync_fetch_and_add(counter, 1);
}

/* Read the IPv4 header at an offset; its total length, or 0 if there is no whole packet before `end`. */
static __always_inline __u32 ipv4_at(struct __sk_buff *skb, __u32 offset, __u32 end, struct iphdr *ip)
{
    if (bpf_skb_load_bytes(skb, offset, ip, sizeof *ip))
        return 0;
    __u32 total = bpf_ntohs(ip->tot_len), header = ip->ihl * 4;
    if (ip->version != 4 || header < sizeof *ip || total < header || offset + total > end)
        return 0;
    return total;
}

static __always_inline __u16 checksum(const struct iphdr *ip)
{
    const __u16 *word = (const void *)ip;
    __u32 sum = 0;
#pragma unroll
    for (int at = 0; at < 10; at++)
        sum += word[at];
    sum = (sum & 0xffff) + (sum >> 16);
    sum = (sum & 0xffff) + (sum >> 16);
    return ~sum;
}

/* Cut off what stands behind the packet: Ethernet's padding is not part of it. */
static __always_inline int cut_padding(struct __sk_buff *skb, __u32 total)
{
    return skb->len > ETH_HLEN + total ? bpf_skb_change_tail(skb, ETH_HLEN + total, 0) : 0;
}

/* ---- the receiving end */
/* Numbers between the last one and a new one have not come: clear their bits. */
static __always_inline void forget(struct receiving *end, __u32 number)
{
    __u32 from = end->last / 64, words = (number / 64 - from) & (0xffffffff / 64);
    for (__u32 at = 1; at <= SEEN_WORDS; at++)
        if (at <= words)
            end->seen[(from + at) % SEEN_WORDS] = 0;
}

/* Equations (1) to (3) in modular form: new is what is ahead by 1 to W. Called under the lock. */
static __always_inline int take(struct receiving *end, __u32 number)
{
    __u32 ahead = number - end->last, behind = end->last - number;
    __u64 bit = 1ULL << (number % 64), *word = &end->seen[number / 64 % SEEN_WORDS];
    if (ahead && ahead <= end->window) {
        if (end->history) {
            forget(end, number);
            *word |= bit;
        }
        end->last = number;
        end->accepted++;
        return 1;
    }
    if (behind < end->history && !(*word & bit)) {
        *word |= bit;
        end->accepted++;
        end->late++;
        return 1;
    }
    if (ahead <= 0x80000000 && ahead)
        end->out_of_window++;
    else
        end->duplicate++;
    return 0;
}

static __always_inline int unprotect(struct __sk_buff *skb, const struct node *node, struct totals *sums)
{
    struct iphdr ip, inner;
    struct protection header;
    __u32 total = ipv4_at(skb, ETH_HLEN, skb->len, &ip);
    if (total < OVERHEAD || ip.ihl != 5 || ip.protocol != node->protocol || ip.daddr != node->address ||
        ip.frag_off & bpf_htons(FRAGMENT) || checksum(&ip))
        return NOT_OURS;
    if (bpf_skb_load_bytes(skb, ETH_HLEN + sizeof ip, &header, sizeof header) || header.next != NEXT_IPV4)
        return NOT_OURS;
    __u32 inner_total = ipv4_at(skb, ETH_HLEN + OVERHEAD, ETH_HLEN + total, &inner);
    if (!inner_total)
        return NOT_OURS;
    __u32 connection = header.connection[0] << 16 | header.connection[1] << 8 | header.connection[2];
    __u32 number = (__u32)header.number[0] << 24 | header.number[1] << 16 | header.number[2] << 8 | header.number[3];
    struct receiving *end = bpf_map_lookup_elem(&receives, &connection);
    if (!end || end->ingress != ip.saddr) {
        count(&sums->unknown);
        return REFUSED;
    }
    bpf_spin_lock(&end->lock);
    int accepted = take(end, number);
    bpf_spin_unlock(&end->lock);
    if (!accepted)
        return REFUSED;
    if (bpf_skb_adjust_room(skb, -OVERHEAD, BPF_ADJ_ROOM_MAC, ROOM_FLAGS) || cut_padding(skb, inner_total)) {
        count(&sums->failed);
        return REFUSED;
    }
    return DONE;
}

/* ---- the sending end */
static __always_inline void fill(struct headers *out, const struct iphdr *ip, const struct sending *end, __u32 number)
{
    out->ip.version = 4;
    out->ip.ihl = 5;
    out->ip.tos = ip->tos;
    out->ip.tot_len = bpf_htons(bpf_ntohs(ip->tot_len) + OVERHEAD);
    out->ip.frag_off = bpf_htons(DONT_FRAGMENT);
    out->ip.ttl = 64;
    out->protection.connection[0] = end->connection >> 16;
    out->protection.connection[1] = end->connection >> 8;
    out->protection.connection[2] = end->connection;
    out->protection.number[0] = number >> 24;
    out->protection.number[1] = number >> 16;
    out->protection.number[2] = number >> 8;
    out->protection.number[3] = number;
    out->protection.next = NEXT_IPV4;
    out->ip.daddr = end->egress;
}

static __always_inline int protect_by(struct __sk_buff *skb, const struct node *node, struct totals *sums, __u32 slot)
{
    struct iphdr ip;
    struct sending *end = bpf_map_lookup_elem(&sends, &slot);
    __u32 total = ipv4_at(skb, ETH_HLEN, skb->len, &ip);
    if (!end || !end->used || !total || skb->protocol != bpf_htons(ETH_P_IP))
        return NOT_OURS;
    if (skb->gso_size) {
        count(&sums->gso);
        return REFUSED;
    }
    /* The number is taken when nothing can fail any more, so that a packet that is refused leaves no gap. No ENCAP
     * flag: the kernel refuses it for a packet that had one before, which a PTE that is a PTI would meet. */
    if (total + OVERHEAD > LONGEST_PACKET || cut_padding(skb, total) ||
        bpf_skb_adjust_room(skb, OVERHEAD, BPF_ADJ_ROOM_MAC, ROOM_FLAGS)) {
        count(&sums->failed);
        return REFUSED;
    }
    struct headers out = {};
    fill(&out, &ip, end, __sync_fetch_and_add(&end->last, 1) + 1);
    out.ip.saddr = node->address;
    out.ip.protocol = node->protocol;
    out.ip.check = checksum(&out.ip);
    count(&end->sent);
    if (bpf_skb_store_bytes(skb, ETH_HLEN, &out, sizeof out, 0)) {
        count(&sums->failed);
        return REFUSED;
    }
    return DONE;
}

/* ---- ProtectedFlows, where no bridge does the matching */
static __always_inline int matches(const struct flow *row, const struct iphdr *ip, const __u16 *transport)
{
    __u16 from = bpf_ntohs(transport[0]), to = bpf_ntohs(transport[1]);
    return (ip->saddr & row->source_mask) == row->source && (ip->daddr & row->destination_mask) == row->destination &&
           (!row->protocol || row->protocol == ip->protocol) && row->source_first <= from &&
           from <= row->source_last && row->destination_first <= to && to <= row->destination_last;
}

/* The slot of the first row that matches; 0 if none does, or the packet has no TCP or UDP header. */
static __always_inline __u32 find_flow(struct __sk_buff *skb, const struct node *node)
{
    struct iphdr ip;
    __u16 transport[2];
    __u32 key = node->table, total = ipv4_at(skb, ETH_HLEN, skb->len, &ip), header = ip.ihl * 4;
    const struct flow_table *table = bpf_map_lookup_elem(&flows, &key);
    if (!table || !table->count || !total || ip.frag_off & bpf_htons(FRAGMENT_OFFSET))
        return 0;
    __u32 shortest = ip.protocol == IPPROTO_TCP ? SHORTEST_TCP : ip.protocol == IPPROTO_UDP ? SHORTEST_UDP : 0;
    if (!shortest || total < header + shortest ||
        bpf_skb_load_bytes(skb, ETH_HLEN + header, transport, sizeof transport))
        return 0;
    for (int at = 0; at < MAX_FLOWS; at++) {
        if (at >= table->count)
            return 0;
        if (matches(&table->rows[at], &ip, transport))
            return table->rows[at].slot;
    }
    return 0;
}

/* ---- the program */
static __always_inline int send_copies(struct __sk_buff *skb, const struct port *port)
{
    if (port->second)
        bpf_clone_redirect(skb, port->second, 0); /* a failed path has no say: the other copy arrives */
    return bpf_redirect(port->first, 0);
}

/* Take the connection's tag off; its VLAN id, or 0 when there was none. */
static __always_inline int take_tag(struct __sk_buff *skb, __u32 *slot)
{
    __u16 tag;
    if (skb->vlan_present) {
        *slot = skb->vlan_tci & VLAN_ID;
    } else if (skb->protocol == bpf_htons(ETH_P_8021Q)) {
        if (bpf_skb_load_bytes(skb, ETH_HLEN, &tag, sizeof tag))
            return -1;
        *slot = bpf_ntohs(tag) & VLAN_ID;
    } else {
        *slot = 0;
        return 0;
    }
    return bpf_skb_vlan_pop(skb);
}

SEC("tc")
int protect(struct __sk_buff *skb)
{
    __u32 only = ONE_AND_ALL, interface = skb->ifindex, slot = 0;
    const struct node *node = bpf_map_lookup_elem(&nodes, &only);
    struct totals *sums = bpf_map_lookup_elem(&totals, &only);
    const struct port *port = bpf_map_lookup_elem(&ports, &interface);
    int outcome = NOT_OURS, sent = NOT_OURS;
    if (!node || !sums || !port)
        return TC_ACT_OK;
    if (port->tags && take_tag(skb, &slot)) {
        count(&sums->failed);
        return TC_ACT_SHOT;
    }
    if (!slot && skb->protocol == bpf_htons(ETH_P_IP) && !skb->vlan_present) {
        outcome = unprotect(skb, node, sums);
        if (outcome == REFUSED)
            return TC_ACT_SHOT;
        slot = find_flow(skb, node);
    }
    if (slot)
        sent = protect_by(skb, node, sums, slot);
    if (sent == REFUSED)
        return TC_ACT_SHOT;
    if (sent == DONE)
        return send_copies(skb, port);
    if (outcome == NOT_OURS)
        count(&sums->plain);
    return bpf_redirect(port->plain, 0);
}

/* What a node without protection does with all packets, to compare with. */
SEC("tc")
int forward(struct __sk_buff *skb)
{
    __u32 interface = skb->ifindex;
    const struct port *port = bpf_map_lookup_elem(&ports, &interface);
    return port ? bpf_redirect(port->plain, 0) : TC_ACT_OK;
}

/* None of the helpers that are called here asks for the GPL. */
char LICENSE[] SEC("license") = "Apache-2.0";
