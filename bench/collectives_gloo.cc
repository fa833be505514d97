/* SPDX-License-Identifier: Apache-2.0 */
/* collectives_gloo: the side_ functions for gloo, over its TCP transport: it has none over shared
 * memory. Its ranks meet in the folder BENCH_STORE. BENCH_RANK and BENCH_SIZE are the rank and the
 * number of ranks, BENCH_INTERFACE the network interface. */
#include <chrono>
#include <cstdlib>
#include <exception>
#include <memory>
#include <string>

#include <gloo/allreduce.h>
#include <gloo/alltoall.h>
#include <gloo/barrier.h>
#include <gloo/broadcast.h>
#include <gloo/math.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/transport/tcp/device.h>

extern "C" {
#include "collectives.h"
}

namespace
{
std::shared_ptr<gloo::rendezvous::Context> context;
std::string text;

/* told calls f and returns NULL, or the text of the exception. */
template <typename F> const char *told(F f)
{
    try {
        f();
        return nullptr;
    } catch (const std::exception &e) {
        text = e.what();
        return text.c_str();
    }
}

const char *environment(const char *name)
{
    const char *value = std::getenv(name);
    return value ? value : "";
}
} // namespace

const char *side_open(uint32_t *rank, uint32_t *ranks)
{
    *rank = static_cast<uint32_t>(std::atoi(environment("BENCH_RANK")));
    *ranks = static_cast<uint32_t>(std::atoi(environment("BENCH_SIZE")));
    return told([&] {
        gloo::transport::tcp::attr attributes;
        attributes.iface = environment("BENCH_INTERFACE");
        auto device = gloo::transport::tcp::CreateDevice(attributes);
        gloo::rendezvous::FileStore store(environment("BENCH_STORE"));
        context = std::make_shared<gloo::rendezvous::Context>(static_cast<int>(*rank),
                                                              static_cast<int>(*ranks));
        context->setTimeout(std::chrono::minutes(2));
        context->connectFullMesh(store, device);
    });
}

void *side_alloc(size_t bytes)
{
    return std::aligned_alloc(4096, bytes);
}

void side_close(void)
{
    context.reset();
}

const char *side_barrier(void)
{
    return told([] {
        gloo::BarrierOptions options(context);
        gloo::barrier(options);
    });
}

const char *side_broadcast(double *buffer, size_t count, uint32_t root)
{
    return told([&] {
        gloo::BroadcastOptions options(context);
        options.setOutput(buffer, count);
        options.setRoot(static_cast<int>(root));
        gloo::broadcast(options);
    });
}

const char *side_allreduce(const double *source, double *destination, size_t count)
{
    return told([&] {
        gloo::AllreduceOptions options(context);
        options.setInput(const_cast<double *>(source), count);
        options.setOutput(destination, count);
        options.setReduceFunction([](void *to, const void *a, const void *b, size_t n) {
            gloo::sum<double>(to, a, b, n);
        });
        gloo::allreduce(options);
    });
}

const char *side_scan(const double *, double *, size_t)
{
    return "gloo has no scan";
}

const char *side_alltoall(const double *source, double *destination, size_t count)
{
    return told([&] {
        gloo::AlltoallOptions options(context);
        size_t all = count * static_cast<size_t>(context->size);
        options.setInput(const_cast<double *>(source), all);
        options.setOutput(destination, all);
        gloo::alltoall(options);
    });
}
