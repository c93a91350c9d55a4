/* huffman: the four bytes of every chosen position, little-endian, in the Huffman code of the bytes
 * of all positions 0 .. n-1. Both sides derive the code from n, so no table is sent: the high
 * bytes, almost always 0, cost one bit each, the others eight or slightly more.
 *
 *   varint  number of chosen
 *   codes   4 for each, most significant bit first, to whole bytes */
#include <assert.h>
#include "index_bits.h"
#include "codecs/sparse/sparse.h"

/* With n >= 256 positions each value of the lowest byte occurs n/256 times, rounded down: in 1 of
 * 2048 bytes or more, and a symbol that frequent has at most 16 bits in a Huffman code (the 18th
 * Fibonacci number is above 2048). Below 256 positions each value occurs in 1 of 1020 or more. */
enum { N_SYMBOLS = 256, MAX_BITS = 16 };

struct code {
    uint16_t bits[N_SYMBOLS];
    uint8_t length[N_SYMBOLS];
    /* canonical code: the codes of one length are consecutive, by symbol */
    uint32_t limit[MAX_BITS + 1]; /* first 16-bit word beyond the codes of this length */
    int32_t offset[MAX_BITS + 1]; /* code - offset: rank of the symbol */
    uint8_t symbol[N_SYMBOLS];
    unsigned n_symbols, shortest;
};

/* How often each byte occurs in the positions 0 .. n-1 of four bytes. */
static void count_bytes(uint64_t count[N_SYMBOLS], uint64_t n)
{
    memset(count, 0, N_SYMBOLS * sizeof(*count));
    for (unsigned place = 0; place < 4; place++) {
        const uint64_t each = (uint64_t)1 << 8 * place, cycle = each << 8;
        const uint64_t rest = n % cycle;
        for (unsigned b = 0; b < N_SYMBOLS; b++) {
            const uint64_t from = b * each, over = rest > from ? rest - from : 0;
            count[b] += n / cycle * each + (over < each ? over : each);
        }
    }
}

/* Depths of a Huffman tree by two queues: leaves from the rarest, ties by symbol; inner nodes in
 * order of creation; of equal counts the leaf goes first. */
static void lengths_of(struct code *c, const uint64_t count[N_SYMBOLS])
{
    uint64_t weight[2 * N_SYMBOLS];
    uint16_t parent[2 * N_SYMBOLS], leaf[N_SYMBOLS];
    uint8_t depth[2 * N_SYMBOLS] = {0};
    unsigned n = 0;
    for (unsigned b = 0; b < N_SYMBOLS; b++) { /* insertion sort */
        if (count[b] == 0)
            continue;
        unsigned at = n++;
        for (; at > 0 && count[leaf[at - 1]] > count[b]; at--)
            leaf[at] = leaf[at - 1];
        leaf[at] = (uint16_t)b;
    }
    c->n_symbols = n;
    for (unsigned i = 0; i < n; i++)
        weight[i] = count[leaf[i]];
    unsigned next_leaf = 0, next_inner = n;
    for (unsigned node = n; node + 1 < 2 * n; node++) {
        weight[node] = 0;
        for (int child = 0; child < 2; child++) {
            const bool is_leaf =
                next_leaf < n && (next_inner == node || weight[next_leaf] <= weight[next_inner]);
            const unsigned from = is_leaf ? next_leaf++ : next_inner++;
            weight[node] += weight[from];
            parent[from] = (uint16_t)node;
        }
    }
    if (n == 1)
        depth[0] = 1; /* a single symbol still takes a bit */
    for (unsigned i = n > 1 ? 2 * n - 2 : 0; i-- > 0;)
        depth[i] = (uint8_t)(depth[parent[i]] + 1);
    memset(c->length, 0, sizeof(c->length));
    for (unsigned i = 0; i < n; i++) {
        assert(depth[i] <= MAX_BITS);
        c->length[leaf[i]] = depth[i];
    }
}

static void code_for(struct code *c, size_t n_elems)
{
    uint64_t count[N_SYMBOLS];
    count_bytes(count, n_elems);
    lengths_of(c, count);
    uint32_t next = 0;
    unsigned rank = 0;
    c->shortest = 0;
    for (unsigned length = 1; length <= MAX_BITS; length++) {
        next <<= 1;
        c->offset[length] = (int32_t)next - (int32_t)rank;
        for (unsigned b = 0; b < N_SYMBOLS; b++)
            if (c->length[b] == length) {
                c->symbol[rank++] = (uint8_t)b;
                c->bits[b] = (uint16_t)next++;
            }
        c->limit[length] = next << (MAX_BITS - length);
        if (rank > 0 && c->shortest == 0)
            c->shortest = length;
    }
}

static size_t huffman_max_bytes(size_t n_elems, size_t n_chosen, double parameter)
{
    (void)n_elems;
    (void)parameter;
    return n_chosen * 4 * MAX_BITS / 8 + 16;
}

static void huffman_encode(struct strait_writer *w, uint32_t *index, size_t *n_chosen,
                           size_t n_elems, double parameter, uint64_t key, uint32_t *scratch)
{
    (void)parameter;
    (void)key;
    (void)scratch;
    struct code c;
    strait_write_varint(w, *n_chosen);
    if (*n_chosen == 0)
        return;
    code_for(&c, n_elems);
    struct strait_bit_writer bits = {.w = w};
    for (size_t i = 0; i < *n_chosen; i++)
        for (unsigned place = 0; place < 4; place++) {
            const unsigned byte = index[i] >> 8 * place & 255;
            strait_put_bits(&bits, c.bits[byte], c.length[byte]);
        }
    strait_flush_bits(&bits);
}

/* The next byte, or N_SYMBOLS where these bits are no code. */
static unsigned next_symbol(struct strait_bit_reader *bits, const struct code *c)
{
    const uint32_t word = strait_peek_bits(bits, MAX_BITS);
    for (unsigned length = c->shortest; length <= MAX_BITS; length++)
        if (word < c->limit[length]) {
            strait_skip_bits(bits, length);
            return c->symbol[(int32_t)(word >> (MAX_BITS - length)) - c->offset[length]];
        }
    return N_SYMBOLS;
}

static bool huffman_decode(struct strait_reader *r, uint32_t *index, size_t *n_chosen,
                           size_t n_elems, uint32_t *scratch)
{
    (void)scratch;
    struct code c;
    const uint64_t n = strait_read_varint(r);
    *n_chosen = (size_t)n;
    if (r->bad || n > n_elems)
        return false;
    if (n == 0)
        return true;
    code_for(&c, n_elems);
    struct strait_bit_reader bits = strait_bit_reader_of(r);
    for (size_t i = 0; i < n; i++) {
        uint32_t v = 0;
        for (unsigned place = 0; place < 4; place++) {
            const unsigned byte = next_symbol(&bits, &c);
            if (byte == N_SYMBOLS || bits.bad)
                return false;
            v |= (uint32_t)byte << 8 * place;
        }
        if (v >= n_elems || (i > 0 && v <= index[i - 1]))
            return false;
        index[i] = v;
    }
    return strait_end_bits(&bits, r);
}

const struct strait_index_codec strait_index_huffman = {
    .name = "huffman",
    .source = "DeepReduce, Xu et al. 2021, appendix F.2",
    .exact = true,
    .max_bytes = huffman_max_bytes,
    .encode = huffman_encode,
    .decode = huffman_decode,
};
