"""KnowHub as it was first designed: FastAPI over SQLite, words matched with LIKE, results grouped by name.

A speed peer for `bench-search` and `bench-write`: the same rows, the same questions, the same machine.
It is meant to be a good server of that design: names are indexed, SQL groups and limits, writes are durable.

    first_design.py load STORE < rows.ndjson    stores the rows, one JSON object a line
    first_design.py serve STORE                 listens on a free port, which uvicorn tells
"""

import json
import sqlite3
import sys
import threading
from datetime import datetime, timezone

import uvicorn
from fastapi import FastAPI
from pydantic import BaseModel, Field

SCHEMA = """
CREATE TABLE IF NOT EXISTS experiences (
    id            INTEGER PRIMARY KEY AUTOINCREMENT,
    name          TEXT NOT NULL,
    url           TEXT DEFAULT '',
    category      TEXT DEFAULT '',
    task          TEXT NOT NULL,
    score         INTEGER CHECK (score BETWEEN 1 AND 5),
    outcome       TEXT DEFAULT '',
    tips          TEXT DEFAULT '',
    content_id    TEXT DEFAULT '',
    submitted_by  TEXT DEFAULT '',
    created_at    TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS experiences_by_name ON experiences (name);
"""

INSERT = """
INSERT INTO experiences
    (name, url, category, task, score, outcome, tips, content_id, submitted_by, created_at)
VALUES
    (:name, :url, :category, :task, :score, :outcome, :tips, :content_id, :submitted_by, :created_at)
"""

# How many matching experiences of one name are shown, as in the hub.
MAX_PER_NAME = 10


class Experience(BaseModel):
    name: str
    url: str = ""
    category: str = ""
    task: str
    score: int | None = Field(default=None, ge=1, le=5)
    outcome: str = ""
    tips: str = ""
    content_id: str = ""
    submitted_by: str = ""


def connect(store: str) -> sqlite3.Connection:
    db = sqlite3.connect(store, check_same_thread=False)
    db.row_factory = sqlite3.Row
    db.execute("PRAGMA journal_mode = WAL")
    db.execute("PRAGMA synchronous = FULL")
    return db


def now() -> str:
    return datetime.now(timezone.utc).isoformat()


def like(word: str) -> str:
    for special in "\\%_":
        word = word.replace(special, "\\" + special)
    return f"%{word}%"


def condition(q: str, category: str) -> tuple[str, list[str]]:
    """Returns the SQL that every word stands in one of the four texts, and its values."""
    columns = ("task", "tips", "outcome", "name")
    anywhere = " OR ".join(f"{column} LIKE ? ESCAPE '\\'" for column in columns)
    words = q.split()
    values = [like(word) for word in words for _ in columns]
    sql = " AND ".join(f"({anywhere})" for _ in words)
    if category:
        return f"category = ? AND {sql}", [category, *values]
    return sql, values


def application(store: str) -> FastAPI:
    app = FastAPI()
    writer, writing = connect(store), threading.Lock()
    readers = threading.local()

    def reader() -> sqlite3.Connection:
        if not hasattr(readers, "db"):
            readers.db = connect(store)
        return readers.db

    @app.get("/api/search")
    def search(q: str, category: str = "", limit: int = 10):
        db = reader()
        matches, values = condition(q, category)
        names = [
            row["name"]
            for row in db.execute(
                f"SELECT name FROM experiences WHERE {matches} "
                "GROUP BY name ORDER BY count(*) DESC LIMIT ?",
                [*values, limit],
            )
        ]
        results = []
        for name in names:
            relevant = db.execute(
                "SELECT task, score, tips, outcome, content_id FROM experiences "
                f"WHERE name = ? AND {matches} ORDER BY id DESC LIMIT {MAX_PER_NAME}",
                [name, *values],
            ).fetchall()
            total = db.execute(
                "SELECT avg(score) AS avg_score, count(*) AS experience_count, max(url) AS url "
                "FROM experiences WHERE name = ?",
                [name],
            ).fetchone()
            results.append(
                {"name": name, "relevant_experiences": [dict(row) for row in relevant], **dict(total)}
            )
        return {"results": results}

    @app.get("/api/experience/{number}")
    def show(number: int):
        row = reader().execute("SELECT * FROM experiences WHERE id = ?", [number]).fetchone()
        return dict(row)

    # On the event loop: the thread pool's hand-over costs more than the insert.
    @app.post("/api/experience", status_code=201)
    async def report(experience: Experience):
        with writing:
            cursor = writer.execute(INSERT, {**experience.model_dump(), "created_at": now()})
            writer.commit()
            return {"id": cursor.lastrowid}

    return app


def main() -> None:
    command, store = sys.argv[1:]
    db = connect(store)
    db.executescript(SCHEMA)
    if command == "load":
        rows = ({**Experience(**json.loads(line)).model_dump(), "created_at": now()} for line in sys.stdin)
        db.executemany(INSERT, rows)
        db.commit()
    else:
        uvicorn.run(application(store), host="127.0.0.1", port=0, log_level="info", access_log=False)


if __name__ == "__main__":
    main()
