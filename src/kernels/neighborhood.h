// Lists of neighbors -> the samples within two hops of a target, by slots: places among them, ascending.
#pragma once

#include <algorithm>
#include <vector>

#include "arrays.h"

// The distinct samples within two hops of a target, and where each layer finds its samples.
class Neighborhood {
  public:
    explicit Neighborhood(int k) : k(k), ids(k + k * k), inner(k), outer(k * k), place(k + k * k), met(k + k * k) {
        while (capacity < 2 * (k + k * k)) capacity *= 2;
        keys.assign(capacity, -1);
        found.resize(capacity);
    }

    void find(const std::int64_t *neighbors, const std::int64_t *lists, std::int64_t left_out) {
        m = length = 0;
        while (length < k && neighbors[length] >= 0) {
            inner[length] = slot(neighbors[length]);
            ++length;
        }
        for (int l = 0; l < length; ++l)
            for (int j = 0; j < k; ++j) {
                const std::int64_t sample = lists[neighbors[l] * k + j];
                outer[l * k + j] = sample >= 0 && sample != left_out ? slot(sample) : -1;
            }
        std::fill(inner.begin() + length, inner.end(), -1);
        std::fill(outer.begin() + length * k, outer.end(), -1);
        std::sort(met.begin(), met.begin() + m, [](const Met &one, const Met &other) { return one.id < other.id; });
        for (int slot = 0; slot < m; ++slot) {
            ids[slot] = met[slot].id;
            place[met[slot].number] = slot;
            keys[met[slot].at] = -1;
        }
        for (int l = 0; l < length; ++l) inner[l] = place[inner[l]];
        for (int entry = 0; entry < length * k; ++entry) outer[entry] = outer[entry] < 0 ? -1 : place[outer[entry]];
    }

    int k, m = 0, length = 0;       // length: neighbors that there are
    std::vector<std::int64_t> ids;  // (m,)
    std::vector<int> inner, outer;  // slots (k,) and (k, k), -1 for who is absent

  private:
    // The number of a sample in the order of meeting, by a hash table.
    int slot(std::int64_t sample) {
        std::uint64_t at = (static_cast<std::uint64_t>(sample) * 0x9E3779B97F4A7C15ull >> 32) & (capacity - 1);
        while (keys[at] != sample) {
            if (keys[at] < 0) {
                keys[at] = sample;
                found[at] = m;
                met[m] = {sample, m, static_cast<int>(at)};
                return m++;
            }
            at = (at + 1) & (capacity - 1);
        }
        return found[at];
    }

    struct Met {
        std::int64_t id;
        int number, at; // in the order of meeting, and in the table
    };
    std::uint64_t capacity = 16;
    std::vector<std::int64_t> keys;
    std::vector<int> found, place;
    std::vector<Met> met;
};
