/* Rows of a causal transformer one by one: the equations of reference.py for one row at a time.

   row r, token x      H = clip(embed[x] + pos[r])
   each head           q, k, v of the row; e_j = exp<q, k_j> for the keys j <= r that may have weight; their sum
   each MLP            the product is driven by the inputs that are not 0
   logits              their argmax is the token of row r + 1, after the input tokens

   A query is regular if it lies in the ranges of the proof (visible_keys.py) and each bit of its code is +c or -c; so
   is a key. A regular query has weight on no regular key of another code: it looks at the keys of its code, which are
   chained in a hash table, and at the irregular keys. An irregular query looks at every key. So no key with weight is
   left out, whichever rows the ranges of the proof were learned from.

   Everything is an integer; products are rounded and clipped one by one, sums run in index order and clip at each
   term. The structures have the same fields as the records of chain_kernel.py. */

#include <stdint.h>
#include <string.h>

typedef int32_t i32;
typedef int64_t i64;

typedef struct {
    i64 width, hidden, p, bound, layers, last_head, heads, outputs, head_width, head_columns, placed;
    const i64 *matrices, *starts;
    const i32 *columns, *values, *biases;
    const i64 *bias_starts;
    const i32 *positions;
    const i64 *places, *head_sizes, *targets, *first_head, *exps;
} Weights;

typedef struct {
    i64 rows, slots, recent;
    i32 *keys, *values, *queries;
    i64 *table;
    i32 *before, *irregular;
    i64 *irregulars;
} Memory;

typedef struct {
    i64 most;
    const i64 *bits;
    const i32 *query_within, *key_within, *query_bits, *key_bits;
} Codes;

typedef struct {
    i32 *H, *total, *change, *units, *head, *logits; /* units are 0 between two rows */
    i64 *key_rows, *exps;
} Scratch;

enum { DONE, SCANNED, NOTHING };

static inline i64 clip(i64 x, i64 bound) { return x > bound ? bound : x < -bound ? -bound : x; }

static inline i64 multiply(i64 a, i64 b, i64 p, i64 bound) {
    i64 n = a * b;
    return clip((n + ((i64)1 << (p - 1)) - 1 + (n < 0)) >> p, bound);
}

/* result += a times row k of matrix m */
static inline void add_row(i64 a, i64 k, i64 m, const Weights *w, i32 *result) {
    const i64 *start = w->starts + w->matrices[2 * m] + k;
    for (i64 e = start[0]; e < start[1]; e++) {
        i32 *to = result + w->columns[e];
        *to = (i32)clip(*to + multiply(a, w->values[e], w->p, w->bound), w->bound);
    }
}

/* result = x W, in order of the entries of x */
static void product(const i32 *x, i64 m, const Weights *w, i32 *result, i64 size) {
    memset(result, 0, size * sizeof(i32));
    for (i64 k = 0; k < w->matrices[2 * m + 1]; k++)
        if (x[k]) add_row(x[k], k, m, w, result);
}

/* the code of a query or a key over `count` bits, or -1 if it is irregular */
static i64 code_of(const i32 *x, i64 width, i64 count, const i32 *within, const i32 *bits, i64 most) {
    if (count < 0) return -1;
    for (i64 j = 0; j < width; j++)
        if (x[j] < within[j] || x[j] > within[width + j]) return -1;
    i64 code = 0;
    for (i64 b = 0; b < count; b++) {
        i32 value = x[bits[b]], size = bits[most + b];
        if (value != size && value != -size) return -1;
        code = code << 1 | (value == size);
    }
    return code;
}

/* the index of a code in a hash table of (code, last row), or a free index for it */
static i64 slot_of(const i64 *table, i64 slots, i64 code) {
    i64 slot = (i64)(((uint64_t)code * UINT64_C(11400714819323198485)) >> 20) & (slots - 1);
    while (table[2 * slot] != -1 && table[2 * slot] != code) slot = (slot + 1) & (slots - 1);
    return slot;
}

static void enter(i64 h, i64 row, const Weights *w, Memory *m, const Codes *c) {
    i64 width = w->head_width;
    i64 code = code_of(m->keys + (h * m->rows + row) * width, width, c->bits[h], c->key_within + 2 * h * width,
                       c->key_bits + 2 * h * c->most, c->most);
    if (code < 0) {
        m->irregular[h * m->rows + m->irregulars[h]++] = (i32)row;
        return;
    }
    i64 *table = m->table + 2 * h * m->slots;
    i64 slot = slot_of(table, m->slots, code);
    m->before[h * m->rows + row] = table[2 * slot] == code ? (i32)table[2 * slot + 1] : -1;
    table[2 * slot] = code;
    table[2 * slot + 1] = row;
}

/* rebuild the index of the first rows */
void enter_all(i64 rows, const Weights *w, Memory *m, const Codes *c) {
    for (i64 i = 0; i < 2 * w->heads * m->slots; i++) m->table[i] = -1;
    for (i64 h = 0; h < w->heads; h++) {
        m->irregulars[h] = 0;
        for (i64 row = 0; row < rows; row++) enter(h, row, w, m, c);
    }
}

/* the keys that a query may have weight on, in order; returns their number, and adds to `wasted` those that are read
   because the query or the key is irregular */
static i64 candidates(i64 h, i64 row, const Weights *w, const Memory *m, const Codes *c, i64 *key_rows, i64 *wasted) {
    i64 width = w->head_width, count = 0;
    i64 code = code_of(m->queries + (h * m->recent + row % m->recent) * width, width, c->bits[h],
                       c->query_within + 2 * h * width, c->query_bits + 2 * h * c->most, c->most);
    if (code < 0) {
        for (i64 j = 0; j <= row; j++) key_rows[j] = j;
        *wasted += row + 1;
        return row + 1;
    }
    const i64 *table = m->table + 2 * h * m->slots;
    i64 slot = slot_of(table, m->slots, code), irregulars = m->irregulars[h];
    for (i64 j = table[2 * slot] == code ? table[2 * slot + 1] : -1; j >= 0; j = m->before[h * m->rows + j])
        key_rows[count++] = j;
    for (i64 i = 0; i < count / 2; i++) {
        i64 other = key_rows[i];
        key_rows[i] = key_rows[count - 1 - i];
        key_rows[count - 1 - i] = other;
    }
    if (irregulars) { /* merge two increasing lists, from their ends */
        const i32 *irregular = m->irregular + h * m->rows;
        i64 i = count - 1, j = irregulars - 1;
        for (i64 k = count + irregulars - 1; j >= 0; k--)
            key_rows[k] = i >= 0 && key_rows[i] > irregular[j] ? key_rows[i--] : irregular[j--];
        *wasted += irregulars;
    }
    return count + irregulars;
}

/* add a head's output to the total; returns 0 if Z is 0 */
static int attend(i64 h, i64 row, i64 count, const Weights *w, const Memory *m, Scratch *s) {
    i64 p = w->p, bound = w->bound, width = w->head_sizes[2 * h], columns = w->head_sizes[2 * h + 1], Z = 0;
    const i32 *query = m->queries + (h * m->recent + row % m->recent) * w->head_width;
    for (i64 i = 0; i < count; i++) {
        const i32 *key = m->keys + (h * m->rows + s->key_rows[i]) * w->head_width;
        i64 score = 0;
        for (i64 j = 0; j < width; j++) score = clip(score + multiply(query[j], key[j], p, bound), bound);
        s->exps[i] = w->exps[score + bound];
        Z = clip(Z + s->exps[i], bound);
    }
    if (!Z) return 0;
    memset(s->head, 0, columns * sizeof(i32));
    for (i64 i = 0; i < count; i++) {
        if (!s->exps[i]) continue;
        i64 weight = clip(((s->exps[i] << (p + 1)) + Z - 1) / (2 * Z), bound);
        const i32 *value = m->values + (h * m->rows + s->key_rows[i]) * w->head_columns;
        for (i64 k = 0; k < columns; k++) s->head[k] = (i32)clip(s->head[k] + multiply(weight, value[k], p, bound), bound);
    }
    for (i64 k = 0; k < columns; k++) {
        i32 *to = s->total + w->targets[h * w->head_columns + k];
        *to = (i32)clip(*to + s->head[k], bound);
    }
    return 1;
}

static void embed(i64 row, i64 token, const Weights *w, i32 *H) {
    memset(H, 0, w->width * sizeof(i32));
    for (i64 k = 0; k < w->placed; k++) H[w->places[k]] = w->positions[row * w->placed + k];
    const i64 *start = w->starts + w->matrices[0] + token;
    for (i64 e = start[0]; e < start[1]; e++) H[w->columns[e]] = (i32)clip(H[w->columns[e]] + w->values[e], w->bound);
}

/* query, key and value of one head at one row */
static void project(i64 h, i64 row, const Weights *w, Memory *m, Scratch *s) {
    i64 number = 2 + 2 * w->layers + 3 * h, width = w->head_width;
    i32 *query = m->queries + (h * m->recent + row % m->recent) * width, *key = m->keys + (h * m->rows + row) * width;
    product(s->H, number, w, query, width);
    product(s->H, number + 1, w, key, width);
    product(s->H, number + 2, w, s->change, w->width);
    for (i64 k = 0; k < w->head_sizes[2 * h + 1]; k++)
        m->values[(h * m->rows + row) * w->head_columns + k] = s->change[w->targets[h * w->head_columns + k]];
}

/* H += ReLU(ReLU(H W1 + b1) W2 + b2) */
static void mlp(i64 layer, const Weights *w, Scratch *s) {
    i64 m = 1 + 2 * layer, size = w->matrices[2 * (m + 1) + 1], bound = w->bound;
    const i32 *b1 = w->biases + w->bias_starts[2 * layer], *b2 = w->biases + w->bias_starts[2 * layer + 1];
    for (i64 k = 0; k < w->width; k++)
        if (s->H[k]) add_row(s->H[k], k, m, w, s->units);
    memset(s->change, 0, w->width * sizeof(i32));
    for (i64 u = 0; u < size; u++) {
        i32 x = s->units[u] + b1[u];
        s->units[u] = 0;
        if (x > 0) add_row(x > bound ? bound : x, u, m + 1, w, s->change);
    }
    for (i64 k = 0; k < w->width; k++) {
        i64 x = s->change[k] + b2[k];
        s->H[k] = (i32)clip(s->H[k] + (x < 0 ? 0 : x > bound ? bound : x), bound);
    }
}

/* the lowest index of the largest logit */
static i64 argmax(const Weights *w, Scratch *s) {
    product(s->H, 1 + 2 * w->layers, w, s->logits, w->outputs);
    i64 symbol = 0;
    for (i64 o = 1; o < w->outputs; o++)
        if (s->logits[o] > s->logits[symbol]) symbol = o;
    return symbol;
}

/* Compute the rows from `first` to `last` - 1; tokens[0 .. inputs - 1] are known, and row r >= inputs - 1 writes the
   token after it. Returns DONE; NOTHING if a row attends to nothing; or SCANNED with the next row, after more than
   `budget` keys were read without a code: codes should then be learned again. */
i64 advance(i64 *tokens, i64 *first, i64 inputs, i64 last, i64 budget, const Weights *w, Memory *m, const Codes *c,
            Scratch *s) {
    i64 wasted = 0;
    for (i64 row = *first; row < last; row++) {
        int writes_token = row >= inputs - 1;
        embed(row, tokens[row], w, s->H);
        for (i64 layer = 0; layer < w->layers; layer++) {
            memset(s->total, 0, w->width * sizeof(i32));
            for (i64 h = w->first_head[layer]; h < w->first_head[layer + 1]; h++) {
                project(h, row, w, m, s);
                enter(h, row, w, m, c);
                i64 count = candidates(h, row, w, m, c, s->key_rows, &wasted);
                if (!attend(h, row, count, w, m, s)) return NOTHING;
            }
            if (layer >= w->last_head && !writes_token) break; /* no row reads the rest */
            for (i64 k = 0; k < w->width; k++) s->H[k] = (i32)clip(s->H[k] + s->total[k], w->bound);
            mlp(layer, w, s);
        }
        if (writes_token) tokens[row + 1] = argmax(w, s);
        if (wasted > budget) {
            *first = row + 1;
            return SCANNED;
        }
    }
    *first = last;
    return DONE;
}
