/* Rows of a causal transformer one by one: the equations of reference.py for one row at a time.

   row r, token x      H = clip(embed[x] + pos[r])
   each head           q, k, v of the row; e_j = exp<q, k_j> for the keys j <= r that may have weight; their sum
   each MLP            the product is driven by the inputs that are not 0
   logits              their argmax is the token of row r + 1, once the given tokens are used up

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
    i64 *found, *exps;
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

/* the code of a query or a key over `count` bits, or -1 where it is irregular */
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

/* where a code stands in a hash table of (code, last row), or the free place for it */
static i64 slot_of(const i64 *table, i64 slots, i64 code) {
    i64 place = (i64)(((uint64_t)code * UINT64_C(11400714819323198485)) >> 20) & (slots - 1);
    while (table[2 * place] != -1 && table[2 * place] != code) place = (place + 1) & (slots - 1);
    return place;
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
    i64 place = slot_of(table, m->slots, code);
    m->before[h * m->rows + row] = table[2 * place] == code ? (i32)table[2 * place + 1] : -1;
    table[2 * place] = code;
    table[2 * place + 1] = row;
}

/* the index of the first rows, made anew */
void enter_all(i64 rows, const Weights *w, Memory *m, const Codes *c) {
    for (i64 i = 0; i < 2 * w->heads * m->slots; i++) m->table[i] = -1;
    for (i64 h = 0; h < w->heads; h++) {
        m->irregulars[h] = 0;
        for (i64 row = 0; row < rows; row++) enter(h, row, w, m, c);
    }
}

/* the keys that a query may have weight on, in order: how many, and how many for want of a code */
static i64 candidates(i64 h, i64 row, const Weights *w, const Memory *m, const Codes *c, i64 *found, i64 *wasted) {
    i64 width = w->head_width, count = 0;
    i64 code = code_of(m->queries + (h * m->recent + row % m->recent) * width, width, c->bits[h],
                       c->query_within + 2 * h * width, c->query_bits + 2 * h * c->most, c->most);
    if (code < 0) {
        for (i64 j = 0; j <= row; j++) found[j] = j;
        *wasted += row + 1;
        return row + 1;
    }
    const i64 *table = m->table + 2 * h * m->slots;
    i64 place = slot_of(table, m->slots, code), irregulars = m->irregulars[h];
    for (i64 j = table[2 * place] == code ? table[2 * place + 1] : -1; j >= 0; j = m->before[h * m->rows + j])
        found[count++] = j;
    for (i64 i = 0; i < count / 2; i++) {
        i64 other = found[i];
        found[i] = found[count - 1 - i];
        found[count - 1 - i] = other;
    }
    if (irregulars) { /* merge two rising lists from behind */
        const i32 *irregular = m->irregular + h * m->rows;
        i64 i = count - 1, j = irregulars - 1;
        for (i64 k = count + irregulars - 1; j >= 0; k--)
            found[k] = i >= 0 && found[i] > irregular[j] ? found[i--] : irregular[j--];
        *wasted += irregulars;
    }
    return count + irregulars;
}

/* add a head's output to the total; 0 where Z is 0 */
static int attend(i64 h, i64 row, i64 count, const Weights *w, const Memory *m, Scratch *s) {
    i64 p = w->p, bound = w->bound, width = w->head_sizes[2 * h], columns = w->head_sizes[2 * h + 1], Z = 0;
    const i32 *query = m->queries + (h * m->recent + row % m->recent) * w->head_width;
    for (i64 i = 0; i < count; i++) {
        const i32 *key = m->keys + (h * m->rows + s->found[i]) * w->head_width;
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
        const i32 *value = m->values + (h * m->rows + s->found[i]) * w->head_columns;
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

/* Compute the rows from `first` to `last` - 1; tokens[0 .. given - 1] are known, and row r >= given - 1 writes the token
   after it. Returns DONE; NOTHING where a row attends to nothing; or SCANNED with the next row, after more than
   `budget` keys were looked at for want of a code: it may be time to learn another. */
i64 advance(i64 *tokens, i64 *first, i64 given, i64 last, i64 budget, const Weights *w, Memory *m, const Codes *c,
            Scratch *s) {
    i64 wasted = 0;
    for (i64 row = *first; row < last; row++) {
        int asked = row >= given - 1;
        embed(row, tokens[row], w, s->H);
        for (i64 layer = 0; layer < w->layers; layer++) {
            memset(s->total, 0, w->width * sizeof(i32));
            for (i64 h = w->first_head[layer]; h < w->first_head[layer + 1]; h++) {
                project(h, row, w, m, s);
                enter(h, row, w, m, c);
                i64 count = candidates(h, row, w, m, c, s->found, &wasted);
                if (!attend(h, row, count, w, m, s)) return NOTHING;
            }
            if (layer >= w->last_head && !asked) break; /* no row reads what would come */
            for (i64 k = 0; k < w->width; k++) s->H[k] = (i32)clip(s->H[k] + s->total[k], w->bound);
            mlp(layer, w, s);
        }
        if (asked) tokens[row + 1] = argmax(w, s);
        if (wasted > budget) {
            *first = row + 1;
            return SCANNED;
        }
    }
    *first = last;
    return DONE;
}
