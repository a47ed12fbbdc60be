// Cholesky factor of G + shift = gamma A'A + B'B + shift, made without G: a multifrontal factorization by elements.
//
// Row i of A (and of B) adds its outer product to G, and joins all columns that it has: rows are the hyperedges of a
// graph of samples. Nested dissection orders the samples: a part is laid out along its longest way, cut where the
// fewest samples share a row with the other side, and these come after both sides. Leaves and separators are the nodes
// of a tree; each is a dense front, to which belong its own samples, then those behind that its rows and its children
// reach. A front sums its elements and what its children leave, takes its own columns of the factor, and leaves the rest
// to its parent. Sums run in one order whatever the thread: nodes that do not stand above each other are independent.
#include "fronts.h"

namespace {

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
