// Cholesky factor of G + shift = gamma A'A + B'B + shift, made without G: a multifrontal factorization by elements.
//
// Row i of A (and of B) adds its outer product to G, and joins all columns that it has: rows are the hyperedges of a
// graph of samples. Nested dissection orders the samples: a part is laid out along its longest way, cut where the
// fewest samples share a row with the other side, and these come after both sides. Leaves and separators are the nodes
// of a tree; each is a dense front, to which belong its own samples, then those behind that its rows and its children
// reach. A front sums its elements and what its children leave, takes its own columns of the factor, and leaves the rest
// to its parent. Sums run in one order whatever the thread: nodes that do not stand above each other are independent.
#include <algorithm>
#include <cmath>
#include <vector>

#include "arrays.h"

namespace {

using Int = std::int32_t;
using Ints = std::vector<Int>;
using Block = std::vector<double>;

constexpr int PANEL = 48; // columns that are eliminated at once
constexpr int TALL = 8, WIDE = 4; // rows and columns of a tile that stays in registers
constexpr int CORNERS = 300; // samples of a part from which its four corners are worth two more walks
constexpr int LANES = 8; // right sides that are solved together

// A sparse matrix by rows (pattern alone) and by columns.
struct Matrix {
    Array<const Int, 1> row_starts, columns, column_starts, rows;
    Floats<1> values; // by columns
    double weight;
};

// Rows whose columns are positions, ascending.
struct Elements {
    Ints positions;
    Block values;
};

// What Python sets when nobody waits any more.
using Flag = Array<const Int, 1>;
bool is_set(const Flag &flag) { return *static_cast<const volatile Int *>(flag.data()) != 0; }

// ---- order

// Lists of numbers, one behind the other.
struct Lists {
    Ints starts, entries;
    const Int *begin(Int list) const { return entries.data() + starts[list]; }
    const Int *end(Int list) const { return entries.data() + starts[list + 1]; }
};

class Dissection {
  public:
    Dissection(const Matrix &inner, const Matrix &joint, Int n, Int leaf, const Flag &give_up)
        : order(n), give_up_(give_up), leaf_(leaf), part_(n, 0) {
        for (auto &steps : steps_) steps.resize(n);
        for (auto &last : last_) last.assign(n, -1);
        for (auto &met : met_) met.assign(n, -1);
        // Samples are numbered as a walk meets them, its end first: neighbors are near each other in memory, and the
        // first is a corner.
        for (Int i = 0; i < n; ++i) order[i] = i;
        find_lists(inner, joint, order, order);
        walk(0, n, 0, 0, steps_[0]);
        const Ints names(queue_.rbegin(), queue_.rend());
        Ints numbers(n);
        for (Int i = 0; i < n; ++i) numbers[names[i]] = i;
        find_lists(inner, joint, names, numbers);
        divide(0, n);
        starts.push_back(n);
        for (Int &sample : order) sample = names[sample];
    }

    Ints order, starts, parents; // samples by position; first position of each node, and the node above, in post-order

  private:
    const Flag &give_up_;
    Int leaf_, n_parts_ = 0;
    Lists neighbors_, rows_[2]; // of each sample: who shares a row of A as its first; rows of A and of B that it is in
    Ints part_, queue_, roots_;
    Ints steps_[4], last_[2], met_[2];

    void find_lists(const Matrix &inner, const Matrix &joint, const Ints &names, const Ints &numbers) {
        const auto copy = [&](const Matrix &matrix, bool by_rows, Int sample, Ints &target) {
            const Int *starts = (by_rows ? matrix.row_starts : matrix.column_starts).data();
            const Int *entries = (by_rows ? matrix.columns : matrix.rows).data();
            for (Int e = starts[sample]; e < starts[sample + 1]; ++e) target.push_back(numbers[entries[e]]);
        };
        const Matrix *matrices[2] = {&inner, &joint};
        for (Lists *lists : {&neighbors_, &rows_[0], &rows_[1]}) {
            lists->starts.assign(1, 0);
            lists->entries.clear();
        }
        for (Int sample : names) {
            copy(inner, true, sample, neighbors_.entries);
            copy(inner, false, sample, neighbors_.entries);
            neighbors_.starts.push_back(static_cast<Int>(neighbors_.entries.size()));
            for (int m = 0; m < 2; ++m) {
                copy(*matrices[m], false, sample, rows_[m].entries);
                rows_[m].starts.push_back(static_cast<Int>(rows_[m].entries.size()));
            }
        }
    }

    void divide(Int begin, Int end) {
        const std::size_t below = roots_.size();
        Int own = begin;
        if (end - begin > leaf_ && !is_set(give_up_)) {
            const auto [middle, separator] = bisect(begin, end);
            // Nothing is gained by a cut that is as large as what it cuts.
            if (middle > begin && separator > middle) {
                divide(begin, middle);
                divide(middle, separator);
                own = separator;
            }
        }
        if (own == end) return;
        const Int node = static_cast<Int>(parents.size());
        starts.push_back(own);
        parents.push_back(-1);
        for (std::size_t child = below; child < roots_.size(); ++child) parents[roots_[child]] = node;
        roots_.resize(below);
        roots_.push_back(node);
    }

    // Steps from a sample to those of its part, through rows of A; who cannot be reached comes last. Fills queue_.
    void walk(Int begin, Int end, Int source, Int part, Ints &steps) {
        queue_.clear();
        for (Int i = begin; i < end; ++i) steps[order[i]] = -1;
        steps[source] = 0;
        queue_.push_back(source);
        Int next = begin;
        for (std::size_t head = 0;; ++head) {
            if (head == queue_.size()) {
                while (next < end && steps[order[next]] >= 0) ++next;
                if (next == end) break;
                steps[order[next]] = steps[queue_.back()] + 1;
                queue_.push_back(order[next]);
            }
            const Int sample = queue_[head], step = steps[sample] + 1;
            for (const Int *other = neighbors_.begin(sample); other < neighbors_.end(sample); ++other)
                if (part_[*other] == part && steps[*other] < 0) {
                    steps[*other] = step;
                    queue_.push_back(*other);
                }
        }
    }

    // Reorders a part into one side, the other side, and what separates them; where the second and the third begin.
    std::pair<Int, Int> bisect(Int begin, Int end) {
        const Int part = ++n_parts_, size = end - begin;
        for (Int i = begin; i < end; ++i) part_[order[i]] = part;
        // Four corners: one end of what the part was cut from, the furthest from there, the furthest from both, and the
        // furthest from that. The two that are nearest to each other make a side, the others the opposite one.
        walk(begin, end, order[begin], part, steps_[0]);
        const Int opposite = queue_.back();
        walk(begin, end, opposite, part, steps_[1]);
        Ints &way = steps_[0];
        if (size < CORNERS) {
            for (Int sample : queue_) way[sample] -= steps_[1][sample];
        } else {
            Int third = opposite, most = 0;
            for (Int sample : queue_)
                if (way[sample] + steps_[1][sample] > most) {
                    third = sample;
                    most = way[sample] + steps_[1][sample];
                }
            walk(begin, end, third, part, steps_[2]);
            const Int fourth = queue_.back();
            walk(begin, end, fourth, part, steps_[3]);
            const bool with_third = way[third] < way[fourth];
            const Ints &beside = steps_[with_third ? 2 : 3], &beyond = steps_[with_third ? 3 : 2];
            for (Int sample : queue_) way[sample] += beside[sample] - steps_[1][sample] - beyond[sample];
        }
        // From one side to the other: a counting sort, ties as the last walk met them.
        Int lowest = 4 * size, highest = -4 * size;
        for (Int sample : queue_) {
            lowest = std::min(lowest, way[sample]);
            highest = std::max(highest, way[sample]);
        }
        Ints places(highest - lowest + 2, 0);
        for (Int sample : queue_) ++places[way[sample] - lowest + 1];
        for (std::size_t i = 1; i < places.size(); ++i) places[i] += places[i - 1];
        Ints line(size);
        for (Int sample : queue_) line[places[way[sample] - lowest]++] = sample;
        return cut(begin, end, part, line);
    }

    std::pair<Int, Int> cut(Int begin, Int end, Int part, const Ints &line) {
        const Int size = end - begin;
        // How far the rows of a sample reach forward; for a cut before place t, those before t that reach t or more are
        // the separator, counted for all t at once.
        Ints reach(size), crossing(size + 1, 0);
        for (Int i = size - 1; i >= 0; --i) {
            Int furthest = i;
            for (int m = 0; m < 2; ++m)
                for (const Int *row = rows_[m].begin(line[i]); row < rows_[m].end(line[i]); ++row) {
                    if (met_[m][*row] != part) {
                        met_[m][*row] = part;
                        last_[m][*row] = i;
                    }
                    furthest = std::max(furthest, last_[m][*row]);
                }
            reach[i] = furthest;
            ++crossing[i + 1 > size ? size : i + 1];
            if (furthest < size) --crossing[furthest + 1 > size ? size : furthest + 1];
        }
        Int best = -1, width = size, count = 0;
        for (Int t = 0; t < size; ++t) {
            count += crossing[t];
            if (t >= size * 2 / 5 && t <= size * 3 / 5 && count < width) {
                best = t;
                width = count;
            }
        }
        if (best < 0 || width * 2 > size) return {begin, begin};
        Int left = begin, right = begin + best - width, middle = right, separator = end - width, last = separator;
        for (Int i = 0; i < size; ++i) {
            if (i >= best) order[right++] = line[i];
            else if (reach[i] >= best) order[last++] = line[i];
            else order[left++] = line[i];
        }
        return {middle, separator};
    }
};

// ---- dense fronts

// Columns of a front: its own are the factor's, those behind are what it leaves to its parent.
struct Front {
    double *own, *left;
    Int width, height; // own columns, rows
    double *column(Int c) const {
        // Rows are counted from the front's first, also where a column begins at the first row behind the own ones.
        return c < width ? own + static_cast<std::size_t>(c) * height
                         : left + static_cast<std::size_t>(c - width) * (height - width) - width;
    }
};

// c[8 x 4] -= a[8 x depth] b[4 x depth]', a and b packed by columns of 8.
HNE_VECTORIZED void subtract_product(const double *a, const double *b, Int depth, double *tile) {
    double sums[WIDE][TALL] = {};
    for (Int k = 0; k < depth; ++k, a += TALL, b += TALL)
        for (int c = 0; c < WIDE; ++c)
            for (int r = 0; r < TALL; ++r) sums[c][r] += a[r] * b[c];
    for (int c = 0; c < WIDE; ++c)
        for (int r = 0; r < TALL; ++r) tile[c * TALL + r] = sums[c][r];
}

// Into each of the two that HNE_VECTORIZED makes.
#if defined(__GNUC__)
#define HNE_INLINE inline __attribute__((always_inline))
#else
#define HNE_INLINE inline
#endif

// Columns j .. j + COUNT of eight rows of a panel below its triangle.
template <int COUNT> HNE_INLINE void divide_columns(double *x, const double *triangle, Int j) {
    double sums[COUNT][TALL] = {}, found[COUNT][TALL];
    const double *rows = triangle + j * PANEL;
    for (Int k = 0; k < j; ++k)
        for (int c = 0; c < COUNT; ++c)
            for (int r = 0; r < TALL; ++r) sums[c][r] += x[k * TALL + r] * rows[c * PANEL + k];
    for (int c = 0; c < COUNT; ++c) {
        for (int k = 0; k < c; ++k)
            for (int r = 0; r < TALL; ++r) sums[c][r] += found[k][r] * rows[c * PANEL + j + k];
        for (int r = 0; r < TALL; ++r) found[c][r] = (x[(j + c) * TALL + r] - sums[c][r]) * rows[c * PANEL + j + c];
    }
    for (int c = 0; c < COUNT; ++c)
        for (int r = 0; r < TALL; ++r) x[(j + c) * TALL + r] = found[c][r];
}

// x = x L'^-1 in place, for eight rows packed by columns of 8.
HNE_VECTORIZED void divide_rows(double *x, const double *triangle, Int width) {
    Int j = 0;
    for (; j + WIDE <= width; j += WIDE) divide_columns<WIDE>(x, triangle, j);
    for (; j < width; ++j) divide_columns<1>(x, triangle, j);
}

// The same for the columns of a triangle: column c loses what column j has, times its own entry there.
HNE_VECTORIZED void clear_columns(double *columns, Int j, Int width) {
    const double *pivot = columns + j * PANEL;
    for (Int c = j + 1; c < width; ++c) {
        double *column = columns + c * PANEL;
        const double factor = pivot[c];
        for (Int r = c; r < width; ++r) column[r] -= factor * pivot[r];
    }
}

// Lower triangle of a panel's first rows, by rows, one over the root of the pivot on its diagonal.
bool factor_triangle(const Front &front, Int first, Int width, double *triangle) {
    double columns[PANEL * PANEL];
    for (Int j = 0; j < width; ++j)
        for (Int i = j; i < width; ++i) columns[j * PANEL + i] = front.column(first + j)[first + i];
    for (Int j = 0; j < width; ++j) {
        double *column = columns + j * PANEL;
        if (!(column[j] > 0.0) || !std::isfinite(column[j])) return false;
        column[j] = 1.0 / std::sqrt(column[j]);
        for (Int i = j + 1; i < width; ++i) column[i] *= column[j];
        clear_columns(columns, j, width);
    }
    // The factor keeps one over its diagonal: solves multiply.
    for (Int j = 0; j < width; ++j)
        for (Int i = j; i < width; ++i) front.column(first + j)[first + i] = triangle[i * PANEL + j] = columns[j * PANEL + i];
    return true;
}

// Columns first .. first + PANEL of the factor; their rows below the triangle are packed as well, 8 rows a tile.
bool clear_panel(const Front &front, Int first, double *packed) {
    double triangle[PANEL * PANEL];
    const Int width = std::min<Int>(PANEL, front.width - first);
    if (!factor_triangle(front, first, width, triangle)) return false;
    for (Int begin = first + width; begin < front.height; begin += TALL, packed += width * TALL) {
        const Int count = std::min<Int>(TALL, front.height - begin);
        for (Int k = 0; k < width; ++k) {
            const double *column = front.column(first + k) + begin;
            for (Int r = 0; r < TALL; ++r) packed[k * TALL + r] = r < count ? column[r] : 0.0;
        }
        divide_rows(packed, triangle, width);
        for (Int k = 0; k < width; ++k) std::copy_n(packed + k * TALL, count, front.column(first + k) + begin);
    }
    return true;
}

// Takes a panel's product out of columns from .. to behind it (multiples of 8, or the last).
void subtract_panel(const Front &front, Int first, const double *packed, Int from, Int to) {
    double tile[TALL * WIDE];
    const Int width = std::min<Int>(PANEL, front.width - first), below = first + width;
    const std::size_t stride = static_cast<std::size_t>(width) * TALL;
    for (Int j = from; j < to; j += WIDE) {
        const double *b = packed + (j / TALL) * stride + j % TALL;
        const Int n_columns = std::min<Int>(WIDE, to - j);
        for (Int t = j / TALL; below + t * TALL < front.height; ++t) {
            subtract_product(packed + t * stride, b, width, tile);
            const Int begin = below + t * TALL, count = std::min<Int>(TALL, front.height - begin);
            for (Int c = 0; c < n_columns; ++c) {
                double *column = front.column(below + j + c) + begin;
                // Entries above the diagonal are nobody's, but have to be within the column.
                const Int skipped = below + j + c >= front.width ? std::max<Int>(0, front.width - begin) : 0;
                for (Int r = skipped; r < count; ++r) column[r] -= tile[c * TALL + r];
            }
        }
    }
}

// ---- solves with a block of LANES right sides, by rows

HNE_VECTORIZED void forward(const double *own, Int width, Int height, double *x, double *all, const Int *border) {
    for (Int j = 0; j < width; j += WIDE) {
        const Int count = std::min<Int>(WIDE, width - j);
        double y[WIDE][LANES] = {};
        const double *l[WIDE];
        for (Int c = 0; c < WIDE; ++c) l[c] = own + static_cast<std::size_t>(j + std::min(c, count - 1)) * height;
        for (Int c = 0; c < count; ++c) {
            for (int v = 0; v < LANES; ++v) y[c][v] = x[(j + c) * LANES + v];
            for (Int k = 0; k < c; ++k)
                for (int v = 0; v < LANES; ++v) y[c][v] -= l[k][j + c] * y[k][v];
            for (int v = 0; v < LANES; ++v) x[(j + c) * LANES + v] = y[c][v] *= l[c][j + c];
        }
        for (Int i = j + count; i < height; ++i) {
            double *target = i < width ? x + static_cast<std::size_t>(i) * LANES
                                       : all + static_cast<std::size_t>(border[i - width]) * LANES;
            double sums[LANES];
            for (int v = 0; v < LANES; ++v) sums[v] = target[v];
            for (int c = 0; c < WIDE; ++c)
                for (int v = 0; v < LANES; ++v) sums[v] -= l[c][i] * y[c][v];
            for (int v = 0; v < LANES; ++v) target[v] = sums[v];
        }
    }
}

HNE_VECTORIZED void backward(const double *own, Int width, Int height, double *x, const double *all,
                             const Int *border) {
    for (Int j = (width - 1) / WIDE * WIDE; j >= 0; j -= WIDE) {
        const Int count = std::min<Int>(WIDE, width - j);
        double y[WIDE][LANES] = {};
        const double *l[WIDE];
        for (Int c = 0; c < WIDE; ++c) l[c] = own + static_cast<std::size_t>(j + std::min(c, count - 1)) * height;
        for (Int i = j + count; i < height; ++i) {
            const double *source = i < width ? x + static_cast<std::size_t>(i) * LANES
                                             : all + static_cast<std::size_t>(border[i - width]) * LANES;
            for (int c = 0; c < WIDE; ++c)
                for (int v = 0; v < LANES; ++v) y[c][v] += l[c][i] * source[v];
        }
        for (Int c = count - 1; c >= 0; --c) {
            for (Int k = c + 1; k < count; ++k)
                for (int v = 0; v < LANES; ++v) y[c][v] += l[c][j + k] * x[(j + k) * LANES + v];
            for (int v = 0; v < LANES; ++v) x[(j + c) * LANES + v] = (x[(j + c) * LANES + v] - y[c][v]) * l[c][j + c];
        }
    }
}

// ---- the factor

class Factor {
  public:
    Factor(double gamma, Array<const Int, 1> Ap, Array<const Int, 1> Ai, Array<const Int, 1> ATp,
           Array<const Int, 1> ATi, Floats<1> ATx, Array<const Int, 1> Bp, Array<const Int, 1> Bi,
           Array<const Int, 1> BTp, Array<const Int, 1> BTi, Floats<1> BTx, Int leaf, Flag give_up)
        : matrices_{{Ap, Ai, ATp, ATi, ATx, gamma}, {Bp, Bi, BTp, BTi, BTx, 1.0}}, n_(static_cast<Int>(Ap.size()) - 1) {
        nb::gil_scoped_release release;
        Dissection dissection(matrices_[0], matrices_[1], n_, leaf, give_up);
        order_ = std::move(dissection.order);
        starts_ = std::move(dissection.starts);
        parents_ = std::move(dissection.parents);
        position_.resize(n_);
        for (Int i = 0; i < n_; ++i) position_[order_[i]] = i;
        for (int m = 0; m < 2; ++m) sort_rows(m);
        find_borders();
        left_.resize(parents_.size());
        own_.resize(parents_.size());
    }

    Int n_nodes() const { return static_cast<Int>(parents_.size()); }

    // Of each node: the one above, its own samples, all of its front, and operations.
    void describe(Array<Int, 1> parents, Array<Int, 1> widths, Array<Int, 1> heights) const {
        for (Int node = 0; node < n_nodes(); ++node) {
            parents.data()[node] = parents_[node];
            widths.data()[node] = width(node);
            heights.data()[node] = height(node);
        }
    }

    // Eliminates the nodes from first to last, children before parents; whether all pivots were positive.
    bool eliminate(Int first, Int last, double shift, Flag give_up) {
        Ints place(n_);
        Block packed;
        for (Int node = first; node <= last; ++node) {
            assemble_at(node, shift, place);
            const Front front = front_of(node);
            packed.resize(std::max<std::size_t>(packed.size(), std::size_t(PANEL) * (front.height + TALL)));
            for (Int panel = 0; panel < front.width; panel += PANEL) {
                if (is_set(give_up) || !clear_panel(front, panel, packed.data())) return false;
                const Int behind = std::min(panel + PANEL, front.width);
                subtract_panel(front, panel, packed.data(), 0, front.height - behind);
            }
        }
        return true;
    }

    // The same for one node in steps, for several threads: its front, a panel, and what that takes from some columns.
    void assemble(Int node, double shift) {
        Ints place(n_);
        assemble_at(node, shift, place);
    }
    bool clear(Int node, Int panel, Array<double, 1> packed) { return clear_panel(front_of(node), panel, packed.data()); }
    void subtract(Int node, Int panel, Floats<1> packed, Int from, Int to) {
        subtract_panel(front_of(node), panel, packed.data(), from, to);
    }

    // Lets go of what only an elimination needs.
    void keep_factor() {
        for (int m = 0; m < 2; ++m) {
            elements_[m] = {};
            matrices_[m] = {};
        }
        left_.clear();
    }

    // Solves for up to 8 columns of `right` from `first` on, and writes them into `solution`.
    void solve(Floats<2> right, Array<double, 2> solution, Int first) const {
        const Int columns = static_cast<Int>(right.shape(1)), count = std::min<Int>(LANES, columns - first);
        Block x(static_cast<std::size_t>(n_) * LANES, 0.0);
        for (Int i = 0; i < n_; ++i)
            for (Int c = 0; c < count; ++c)
                x[static_cast<std::size_t>(i) * LANES + c] =
                    right.data()[static_cast<std::size_t>(order_[i]) * columns + first + c];
        for (Int node = 0; node < n_nodes(); ++node)
            forward(own_[node].data(), width(node), height(node), x.data() + std::size_t(starts_[node]) * LANES,
                    x.data(), borders_.data() + border_starts_[node]);
        for (Int node = n_nodes() - 1; node >= 0; --node)
            backward(own_[node].data(), width(node), height(node), x.data() + std::size_t(starts_[node]) * LANES,
                     x.data(), borders_.data() + border_starts_[node]);
        for (Int i = 0; i < n_; ++i)
            for (Int c = 0; c < count; ++c)
                solution.data()[static_cast<std::size_t>(order_[i]) * columns + first + c] =
                    x[static_cast<std::size_t>(i) * LANES + c];
    }

  private:
    Matrix matrices_[2];
    Int n_;
    Ints order_, starts_, parents_, position_;
    Elements elements_[2];
    Ints borders_; // positions behind a node's own that its front has
    std::vector<std::size_t> border_starts_;
    std::vector<Ints> children_;
    std::vector<Block> own_, left_;

    Int width(Int node) const { return starts_[node + 1] - starts_[node]; }
    Int height(Int node) const {
        return width(node) + static_cast<Int>(border_starts_[node + 1] - border_starts_[node]);
    }

    // Rows in the new order: columns are dealt out to them one by one.
    void sort_rows(int m) {
        const Matrix &matrix = matrices_[m];
        const Int *column_starts = matrix.column_starts.data();
        elements_[m].positions.resize(matrix.rows.size());
        elements_[m].values.resize(matrix.rows.size());
        Ints ends(matrix.row_starts.data(), matrix.row_starts.data() + n_);
        for (Int position = 0; position < n_; ++position)
            for (Int e = column_starts[order_[position]]; e < column_starts[order_[position] + 1]; ++e) {
                const Int place = ends[matrix.rows.data()[e]]++;
                elements_[m].positions[place] = position;
                elements_[m].values[place] = matrix.values.data()[e];
            }
    }

    void find_borders() {
        Ints marked(n_, -1);
        children_.resize(parents_.size());
        border_starts_.assign(1, 0);
        for (Int node = 0; node < n_nodes(); ++node) {
            const Int end = starts_[node + 1];
            const auto add = [&](Int position) {
                if (position < end || marked[position] == node) return;
                marked[position] = node;
                borders_.push_back(position);
            };
            for (Int position = starts_[node]; position < end; ++position)
                for (int m = 0; m < 2; ++m) {
                    const Matrix &matrix = matrices_[m];
                    const Int *column_starts = matrix.column_starts.data(), *row_starts = matrix.row_starts.data();
                    for (Int e = column_starts[order_[position]]; e < column_starts[order_[position] + 1]; ++e) {
                        const Int row = matrix.rows.data()[e];
                        if (elements_[m].positions[row_starts[row]] != position) continue;
                        for (Int f = row_starts[row]; f < row_starts[row + 1]; ++f) add(elements_[m].positions[f]);
                    }
                }
            for (Int child : children_[node])
                for (std::size_t b = border_starts_[child]; b < border_starts_[child + 1]; ++b) add(borders_[b]);
            std::sort(borders_.begin() + border_starts_.back(), borders_.end());
            border_starts_.push_back(borders_.size());
            if (parents_[node] >= 0) children_[parents_[node]].push_back(node);
        }
    }

    Front front_of(Int node) { return {own_[node].data(), left_[node].data(), width(node), height(node)}; }

    void assemble_at(Int node, double shift, Ints &place) {
        const Int begin = starts_[node], wide = width(node), rest = height(node) - wide;
        const Int *border = borders_.data() + border_starts_[node];
        own_[node].assign(static_cast<std::size_t>(wide) * (wide + rest), 0.0);
        left_[node].assign(static_cast<std::size_t>(rest) * rest, 0.0);
        const Front front = front_of(node);
        for (Int i = 0; i < wide; ++i) {
            place[begin + i] = i;
            front.column(i)[i] = shift;
        }
        for (Int i = 0; i < rest; ++i) place[border[i]] = wide + i;
        Ints at;
        for (Int position = begin; position < begin + wide; ++position)
            for (int m = 0; m < 2; ++m) add_elements(m, position, place, front, at);
        for (Int child : children_[node]) {
            add_left(child, place, front);
            Block().swap(left_[child]);
        }
    }

    // Outer products of the rows whose first member stands at this position.
    void add_elements(int m, Int position, const Ints &place, const Front &front, Ints &at) {
        const Matrix &matrix = matrices_[m];
        const Int *column_starts = matrix.column_starts.data(), *row_starts = matrix.row_starts.data();
        for (Int e = column_starts[order_[position]]; e < column_starts[order_[position] + 1]; ++e) {
            const Int row = matrix.rows.data()[e], size = row_starts[row + 1] - row_starts[row];
            const Int *positions = elements_[m].positions.data() + row_starts[row];
            if (positions[0] != position) continue;
            const double *values = elements_[m].values.data() + row_starts[row];
            at.resize(std::max<std::size_t>(at.size(), size));
            for (Int i = 0; i < size; ++i) at[i] = place[positions[i]];
            for (Int j = 0; j < size; ++j) {
                double *column = front.column(at[j]);
                const double value = matrix.weight * values[j];
                for (Int i = j; i < size; ++i) column[at[i]] += values[i] * value;
            }
        }
    }

    void add_left(Int child, const Ints &place, const Front &front) {
        const Int *border = borders_.data() + border_starts_[child];
        const Int size = height(child) - width(child);
        Ints at(size);
        for (Int i = 0; i < size; ++i) at[i] = place[border[i]];
        for (Int j = 0; j < size; ++j) {
            double *column = front.column(at[j]);
            const double *left = left_[child].data() + static_cast<std::size_t>(j) * size;
            for (Int i = j; i < size; ++i) column[at[i]] += left[i];
        }
    }
};

} // namespace

void add_cholesky(nb::module_ &module) {
    nb::class_<Factor>(module, "Factor")
        .def(nb::init<double, Array<const Int, 1>, Array<const Int, 1>, Array<const Int, 1>, Array<const Int, 1>,
                      Floats<1>, Array<const Int, 1>, Array<const Int, 1>, Array<const Int, 1>, Array<const Int, 1>,
                      Floats<1>, Int, Flag>())
        .def_prop_ro("n_nodes", &Factor::n_nodes)
        .def("describe", &Factor::describe)
        .def("eliminate", &Factor::eliminate, NoLock())
        .def("assemble", &Factor::assemble, NoLock())
        .def("clear", &Factor::clear, NoLock())
        .def("subtract", &Factor::subtract, NoLock())
        .def("keep_factor", &Factor::keep_factor)
        .def("solve", &Factor::solve, NoLock());
}
