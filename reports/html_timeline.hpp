// The step timeline of the HTML report: a bounded number of rows and segments, whatever the size of the run.
// Pure.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "sim/event_log.hpp"

namespace rollcast {

// From the first span, phase, counter or happening to the last; both 0 of an empty log.
struct TimeRange {
  Seconds start;
  Seconds end;
};
TimeRange whole_range(EventLog const& log);

// The part of a run that its timeline shows: the first five completed steps; of a run that ends otherwise, or
// completes none, the last four completed ones and everything after them.
struct ShownSteps {
  TimeRange range;
  std::string name;  // "steps 1 to 5 of 100", "step 1", "from the start to the end"
};
ShownSteps shown_steps(EventLog const& log);

// The part of a segment that one label of one activity takes.
struct MixPart {
  Activity activity = Activity::compute;
  int label = 0;  // index into EventLog::labels
  double share = 0;
};

// What a rank class does for a while. Where spans overlap across streams, the activity that comes first in
// its enumeration counts, as in timelines() (reports/timeline.hpp).
struct RowSegment {
  Seconds start;
  Seconds end;
  int step = 0;
  Phase phase = Phase::generate;
  Activity activity = Activity::compute;  // that takes most of it
  std::vector<MixPart> mix;               // largest first, at most three; one: nothing was gathered
};

struct TimelineRow {
  int rank_class = 0;                // whose segments these are
  std::vector<int> classes;          // that it stands for, itself among them, ascending
  int ranks = 0;                     // of all of these
  Seconds spread;                    // sum over phases and activities of |time - this class's time|, at most
  std::vector<RowSegment> segments;  // ascending, without overlap
};

// Rank classes by likeness: at most `most` of them stand for all. Each class stands by the nearest, by the
// sum over phases and activities of the difference of their spans' times; classes of different pools are
// never put together, nor is one of `kept` put to another while there is room. Classes are chosen farthest
// first, so that ranks that differ most get rows of their own. Rows are ascending by rank_class, without
// segments. No more than `most` classes: a row for each. most: at least the number of pools.
std::vector<TimelineRow> rows_by_likeness(EventLog const& log, std::size_t most,
                                          std::vector<int> const& kept = {});

// The segments of each of these classes within the range.
std::vector<std::vector<RowSegment>> segments_of(EventLog const& log, std::vector<int> const& rank_classes,
                                                 TimeRange range);

// Neighbours that are shorter than `grain` and of one phase and step are gathered until they are as long;
// with `across`, of whatever phase. Times at the ends stay.
std::vector<RowSegment> coarsened(std::vector<RowSegment> const& segments, Seconds grain, bool across);

struct StepTimeline {
  ShownSteps shown;
  std::vector<TimelineRow> rows;
  Seconds grain;  // what is shorter may be gathered; 0: nothing is
  std::size_t classes = 0;
};
// At most `rows` rows, and at most `segments` segments in all.
StepTimeline step_timeline(EventLog const& log, std::size_t rows, std::size_t segments);

}  // namespace rollcast
