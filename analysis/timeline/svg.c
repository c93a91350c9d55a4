/* A timeline as a picture inside of a page: a bar a rank and track, coloured by the page. */
#include <stdlib.h>

#include "timeline.h"
#include "tracks.h"

enum { MAX_SPANS = 4000, WIDTH = 1000, LABEL = 90, BAR = 14, MAX_TRACKS = 3 };

static void put_rank(FILE *out, const struct strait_timeline *t, const struct strait_tracks *tracks,
                     int rank, int y, double scale)
{
    char name[STRAIT_LINK_NAME_CHARS];
    fprintf(out, "<text x=\"0\" y=\"%d\">%s</text>\n", y + BAR - 3,
            strait_timeline_rank(name, t, rank));
    for (size_t i = 0; i < tracks->n_spans; i++) {
        const struct strait_span *s = &tracks->spans[i].span;
        const int row = s->kind == STRAIT_SPAN_WAIT ? 0 : tracks->spans[i].track % MAX_TRACKS;
        const double x = LABEL + scale * (s->start_s - t->from_s),
                     width = scale * (s->end_s - s->start_s);
        if (s->kind == STRAIT_SPAN_WAIT || width < 0.2)
            continue;
        fprintf(out, "<rect class=\"%s%s\" x=\"%.1f\" y=\"%d\" width=\"%.1f\" height=\"%d\"/>\n",
                strait_span_kind_name((enum strait_span_kind)s->kind),
                tracks->spans[i].critical ? " critical" : "", x, y + row * BAR / 2, width,
                BAR / 2 - 1);
    }
}

int strait_timeline_svg(FILE *out, const struct strait_timeline *t, struct strait_error *err)
{
    size_t n = 0;
    const int step = MAX_TRACKS * BAR / 2 + 4;
    const double length_s = t->to_s - t->from_s;
    for (int rank = 0; rank < t->n_ranks; rank++)
        n += t->logs[rank].n_spans;
    if (t->n_ranks > STRAIT_TIMELINE_MAX_LINES || n > MAX_SPANS || !(length_s > 0))
        return strait_refuse(err, "timeline", "expected at most %d ranks and %d spans in a picture",
                             STRAIT_TIMELINE_MAX_LINES, MAX_SPANS);
    fprintf(out,
            "<svg class=\"timeline\" role=\"img\" aria-label=\"Timeline of %d ranks over %.4g "
            "seconds\" viewBox=\"0 0 %d %d\">\n",
            t->n_ranks, length_s, WIDTH, t->n_ranks * step + 18);
    for (int rank = 0; rank < t->n_ranks; rank++) {
        struct strait_tracks tracks;
        if (strait_tracks_of(&tracks, t, rank, err) != 0)
            return -1;
        put_rank(out, t, &tracks, rank, rank * step, (WIDTH - LABEL) / length_s);
        strait_tracks_release(&tracks);
    }
    fprintf(out,
            "<text x=\"%d\" y=\"%d\">0 s</text><text x=\"%d\" y=\"%d\" "
            "text-anchor=\"end\">%.4g s</text>\n</svg>\n",
            LABEL, t->n_ranks * step + 14, WIDTH, t->n_ranks * step + 14, length_s);
    return 0;
}
