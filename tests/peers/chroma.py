"""chromadb over given vectors, in memory, with the vector index's own parameters; a speed peer for `bench-vectors`.

    chroma.py ROWS QUERIES DIMENSION LIMIT SHARE…

ROWS and QUERIES are files of 32-bit floats, one vector after the other; of each SHARE n every n-th row is kept.
Prints one object: how many rows were added a second, the process's memory, and for each share how long each query took and which rows it found.
"""

import json
import sys
import time

import chromadb
import numpy
from chromadb.config import Settings

BATCH = 2_000


def main():
    rows_file, queries_file = sys.argv[1:3]
    dimension, limit, *shares = map(int, sys.argv[3:])
    rows = numpy.memmap(rows_file, dtype="<f4").reshape(-1, dimension)
    queries = numpy.fromfile(queries_file, dtype="<f4").reshape(-1, dimension)
    client = chromadb.EphemeralClient(Settings(anonymized_telemetry=False))
    hnsw = {"space": "ip", "max_neighbors": 16, "ef_construction": 200, "ef_search": 64}
    collection = client.create_collection("vectors", embedding_function=None, configuration={"hnsw": hnsw})

    started = time.perf_counter()
    for first in range(0, len(rows), BATCH):
        numbers = range(first, min(first + BATCH, len(rows)))
        collection.add(
            ids=[str(number) for number in numbers],
            embeddings=rows[first : first + BATCH],
            metadatas=[{f"in{share}": number % share == 0 for share in shares} for number in numbers],
        )
    rate = len(rows) / (time.perf_counter() - started)
    # What was only written down so far is taken in before anything is measured.
    ask(collection, queries[:50], limit, 1)
    classes = [ask(collection, queries, limit, share) for share in shares]
    print(json.dumps({"rate": rate, "memory_mb": memory_mb(), "classes": classes}))


def ask(collection, queries, limit, share):
    times, found = [], []
    where = None if share == 1 else {f"in{share}": True}
    for query in queries:
        started = time.perf_counter()
        result = collection.query(query_embeddings=[query], n_results=limit, where=where, include=[])
        times.append((time.perf_counter() - started) * 1e3)
        found.append([int(number) for number in result["ids"][0]])
    return {"share": share, "times_ms": times, "found": found}


def memory_mb():
    with open("/proc/self/status") as status:
        line = next(line for line in status if line.startswith("RssAnon"))
    return int(line.split()[1]) * 1024 / 1e6


main()
