/* sz: the head of a stream, described in sz.c, and the grid of a bound. */
#include <math.h>
#include "sz_head.h"

enum { MODES = 7, HAS_CENTRE = 8, POINTWISE = 16, DIRECTIONS = 32, ALL_FLAGS = 63 };

const struct sz_grid sz_integers = {.step = 1, .inverse = 1};

/* Share of the bound that is left for rounding y to float, half a unit in its last place, so that
 * hardly any value needs an escape: 2^-12 is enough for values below 2^12 steps. For values far
 * from 0 the magnitude of their centre determines it, as a power of two: so equal bounds give equal
 * steps unless the centres differ in magnitude. */
double sz_rounding_share(double centre, double bound)
{
    const double rounding = fabs(centre) * 0x1p-24 / bound;
    double share = 0x1p-12;
    while (share < rounding && share < 0x1p-3)
        share *= 2;
    return share;
}

bool sz_grid_for(struct sz_grid *grid, double bound, float centre)
{
    if (bound > 0x1p120)
        bound = 0x1p120;
    if (!(bound >= 0x1p-110))
        return false;
    grid->centre = centre;
    grid->step = (float)(2 * bound * (1 - sz_rounding_share((double)centre, bound)));
    grid->inverse = 1.0f / grid->step;
    /* A computed difference <= threshold was at most half a unit larger before rounding: one unit
     * below the bound is enough. */
    grid->threshold = (float)bound;
    if ((double)grid->threshold > bound)
        grid->threshold = nextafterf(grid->threshold, 0);
    grid->threshold = nextafterf(grid->threshold, 0);
    return true;
}

static uint64_t zigzag(int32_t v)
{
    return (uint32_t)v << 1 ^ (uint32_t)(v >> 31);
}

static void write_float(struct strait_writer *w, float x)
{
    if (!strait_write_room(w, 4))
        return;
    strait_put_float(w->p, x);
    w->p += 4;
}

static float read_float(struct strait_reader *r)
{
    const unsigned char *p = strait_read_bytes(r, 4);
    return p ? strait_get_float(p) : 0;
}

static void write_directions(struct strait_writer *w, const struct sz_matrix *m)
{
    strait_write_varint(w, m->n_rows);
    strait_write_u8(w, m->rank);
    for (unsigned j = 0; j < m->rank; j++)
        write_float(w, m->scale[j]);
    strait_write_varint(w, m->len_bytes);
    strait_write_bytes(w, m->bytes, m->len_bytes);
}

static bool read_directions(struct strait_reader *r, struct sz_directions *d)
{
    const uint64_t n_rows = strait_read_varint(r);
    d->rank = strait_read_u8(r);
    if (r->bad || n_rows > SIZE_MAX || d->rank < 1 || d->rank > SZ_MAX_DIRECTIONS)
        return false;
    d->n_rows = (size_t)n_rows;
    for (unsigned j = 0; j < d->rank; j++)
        d->scale[j] = read_float(r);
    const uint64_t len_bytes = strait_read_varint(r);
    if (r->bad || len_bytes > SIZE_MAX)
        return false;
    d->len_bytes = (size_t)len_bytes;
    d->bytes = strait_read_bytes(r, d->len_bytes);
    return d->bytes != NULL;
}

void sz_write_head(struct strait_writer *w, const struct sz_head *head)
{
    const bool on_grid = head->mode == SZ_FIXED || head->mode == SZ_SEGMENTS;
    const bool powers = on_grid && head->pointwise;
    const bool centred = on_grid && !powers && (head->grid.centre < 0 || head->grid.centre > 0);
    strait_write_u8(w, (unsigned)head->mode | (centred ? (unsigned)HAS_CENTRE : 0u) |
                           (powers ? (unsigned)POINTWISE : 0u) |
                           (head->matrix ? (unsigned)DIRECTIONS : 0u));
    strait_write_varint(w, head->n_elems);
    if (head->mode == SZ_CONST)
        write_float(w, head->constant);
    if (powers) {
        write_float(w, head->powers.within);
        strait_write_u8(w, head->powers.signs);
        strait_write_varint(w, zigzag(head->powers.middle));
    } else if (on_grid) {
        write_float(w, head->grid.step);
        if (centred)
            write_float(w, head->grid.centre);
    }
    if (head->matrix)
        write_directions(w, head->matrix);
}

static bool read_powers(struct strait_reader *r, struct sz_head *head)
{
    head->powers.within = read_float(r);
    head->powers.signs = strait_read_u8(r);
    const uint64_t middle = strait_read_varint(r);
    head->powers.middle = (int32_t)((uint32_t)(middle >> 1) ^ -(uint32_t)(middle & 1));
    head->grid = sz_integers;
    return !r->bad && middle <= UINT32_MAX && head->powers.signs <= 2 &&
           sz_powers_complete(&head->powers);
}

bool sz_head_is_plain(const struct strait_reader *r)
{
    return r->p < r->end && !(*r->p & DIRECTIONS);
}

bool sz_read_head(struct strait_reader *r, struct sz_head *head, size_t n_elems)
{
    const unsigned byte = strait_read_u8(r), mode = byte & MODES;
    *head = (struct sz_head){
        .mode = (enum sz_mode)mode, .pointwise = (byte & POINTWISE) != 0, .n_elems = n_elems};
    if (strait_read_varint(r) != n_elems || r->bad || byte > ALL_FLAGS)
        return false;
    if (mode == SZ_RAW || mode == SZ_RAW_SEGMENTS)
        return byte == mode;
    if (mode == SZ_CONST) {
        head->constant = read_float(r);
        return !r->bad && byte == mode;
    }
    if ((mode != SZ_FIXED && mode != SZ_SEGMENTS) || (mode == SZ_FIXED && n_elems > SZ_FIXED_ELEMS))
        return false;
    if (byte & DIRECTIONS && (mode != SZ_SEGMENTS || byte & (HAS_CENTRE | POINTWISE)))
        return false;
    if (head->pointwise)
        return !(byte & HAS_CENTRE) && read_powers(r, head);
    head->grid.step = read_float(r);
    head->grid.centre = byte & HAS_CENTRE ? read_float(r) : 0;
    if (r->bad || !isfinite(head->grid.step) || !(head->grid.step > 0) ||
        !isfinite(head->grid.centre))
        return false;
    head->grid.inverse = 1.0f / head->grid.step;
    return !(byte & DIRECTIONS) || read_directions(r, &head->directions);
}
