/* Inside timelines: spans of a rank on tracks, on none of which two overlap. */
#pragma once
#include "timeline.h"

enum strait_track_kind { STRAIT_TRACK_LANE, STRAIT_TRACK_WORK, STRAIT_TRACK_RECEIVE };

struct strait_track_span {
    struct strait_span span;
    size_t at; /* its place in the log */
    int track; /* from 0 */
    bool critical;
};

struct strait_track {
    enum strait_track_kind kind;
    int lane;
    int number; /* of tracks of its kind and lane */
    double end_s;
};

struct strait_tracks {
    struct strait_track_span *spans; /* in the order of their starts */
    size_t n_spans;
    struct strait_track *tracks;
    int n_tracks;
};

/** Put the spans of a rank within the timeline on tracks: work of a lane on as many as run at once,
 *  transfers to it likewise, waiting and rounds on the lane's own.
 *  Returns: 0, or -1 with *err NOMEM */
int strait_tracks_of(struct strait_tracks *out, const struct strait_timeline *t, int rank,
                     struct strait_error *err);
void strait_tracks_release(struct strait_tracks *tracks);
/** "lane 0", "lane 0 work 2", "receiving 1". Returns: buf */
const char *strait_track_name(char buf[48], const struct strait_track *track);
/** "server", "client 3" or "rank 3". Returns: buf */
const char *strait_timeline_rank(char buf[STRAIT_LINK_NAME_CHARS], const struct strait_timeline *t,
                                 int rank);
