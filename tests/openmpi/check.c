/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"

int rank, ranks;
const char *now = "";
struct layout layouts[LAYOUTS];

enum { PATTERN = 0xa5, MARGIN = 64 };

static void add(int index, const char *name, MPI_Datatype type, int ints)
{
    struct layout *l = &layouts[index];
    MPI_Aint lb = 0;
    *l = (struct layout){.name = name, .type = type, .ints = ints};
    if (type != MPI_INT)
        MPI_Type_commit(&l->type);
    MPI_Type_get_extent(type, &lb, &l->extent);
    MPI_Type_get_true_extent(type, &l->true_lb, &l->true_extent);
}

static void make_layouts(void)
{
    MPI_Datatype vector, gaps, pair, backward, shifted;
    const int ones[2] = {1, 1}, places[2] = {2, -1};
    MPI_Type_vector(2, 1, 3, MPI_INT, &vector);
    MPI_Type_create_resized(vector, 0, 5 * (MPI_Aint)sizeof(int), &gaps);
    MPI_Type_contiguous(2, MPI_INT, &pair);
    MPI_Type_indexed(2, ones, places, MPI_INT, &backward);
    MPI_Type_create_resized(pair, -8, 24, &shifted);
    add(0, "int", MPI_INT, 1);
    add(1, "vector with gaps", gaps, 2);
    add(2, "contiguous", pair, 2);
    add(3, "indexed backward", backward, 2);
    add(4, "shifted", shifted, 2);
    MPI_Type_free(&vector);
}

struct room room_new(const struct layout *l, int elements)
{
    struct room room = {.layout = l};
    room.bytes = (size_t)elements * (size_t)(l->extent > 0 ? l->extent : -l->extent) + 4 * MARGIN;
    room.memory = malloc(room.bytes);
    CHECK(room.memory);
    memset(room.memory, PATTERN, room.bytes);
    room.base = room.memory + 2 * MARGIN;
    return room;
}

void room_free(struct room *room)
{
    free(room->memory);
}

void room_put(struct room *room, int at, const int *from, int ints)
{
    int position = 0;
    WELL(MPI_Unpack(from, ints * (int)sizeof(int), &position,
                    room->base + at * room->layout->extent, ints / room->layout->ints,
                    room->layout->type, MPI_COMM_SELF));
}

int room_same(const struct room *a, const struct room *b)
{
    return a->bytes == b->bytes && memcmp(a->memory, b->memory, a->bytes) == 0;
}

void values(int *to, int sender, int receiver, int ints)
{
    for (int i = 0; i < ints; i++)
        to[i] = 1000000 * (sender + 1) + 10000 * (receiver + 1) + i;
}

void finish(MPI_Request *request)
{
    WELL(MPI_Wait(request, MPI_STATUS_IGNORE));
}

void begin(int *argc, char ***argv)
{
    MPI_Init(argc, argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    make_layouts();
}

int end(void)
{
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        puts("all is well");
    MPI_Finalize();
    return 0;
}
