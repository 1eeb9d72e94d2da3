//! The one writer: a thread that commits what waits for it together.

use std::{
    io,
    sync::{Arc, Mutex},
    thread,
    time::Instant,
};

use rusqlite::{Connection, TransactionBehavior};
use service::file_lock::FileLock;
use service::logging::chain;
use tokio::{
    runtime::Handle,
    sync::{mpsc, oneshot},
};

use super::{Change, Error, disk::Disk};
use crate::metrics::CommitMetrics;

/// How many writes may wait for the writer; further ones wait for a place, in the order they came.
const QUEUE_CAPACITY: usize = 1024;

/// How many writes are committed together at most; the rest waits for the next commit.
const MAX_BATCH: usize = 512;

/// Told of each commit before its writers get their answers.
pub(super) type Publish = Box<dyn Fn(Vec<Change>) + Send>;

/// A write that waits for its turn, whatever it returns.
trait Job: Send {
    /// Does the work within the transaction; its changes are kept when nothing failed.
    fn work(&mut self, db: &Connection, changes: &mut Vec<Change>) -> Result<(), Error>;

    /// Answers the caller, now that the commit is decided.
    fn answer(self: Box<Self>, committed: Result<(), Error>);
}

/// A write that returns a `T`.
struct Write<T, F> {
    /// Taken when the job runs.
    work: Option<F>,
    /// What the work returned.
    result: Option<Result<T, Error>>,
    /// Where the caller waits.
    reply: oneshot::Sender<Result<T, Error>>,
}

impl<T, F> Job for Write<T, F>
where
    T: Send,
    F: FnOnce(&Connection, &mut Vec<Change>) -> Result<T, Error> + Send,
{
    fn work(&mut self, db: &Connection, changes: &mut Vec<Change>) -> Result<(), Error> {
        let result = self.work.take().map(|work| work(db, changes));
        let outcome = match &result {
            Some(Err(err)) => Err(err.clone()),
            _ => Ok(()),
        };
        self.result = result;
        outcome
    }

    fn answer(self: Box<Self>, committed: Result<(), Error>) {
        let answer = match (self.result, committed) {
            (Some(Err(own)), _) => Err(own),
            (_, Err(err)) => Err(err),
            (Some(Ok(value)), Ok(())) => Ok(value),
            (None, Ok(())) => Err(Error::Closed),
        };
        // The caller may have given up waiting; the write stands all the same.
        let _ = self.reply.send(answer);
    }
}

enum Message {
    Job(Box<dyn Job>),
    Close,
}

/// The handle of the writer's thread.
pub(super) struct Writer {
    /// Whoever writes sends here; the thread receives; closed when the thread ends.
    messages: mpsc::Sender<Message>,
    /// Taken by the first that closes.
    thread: Mutex<Option<thread::JoinHandle<()>>>,
}

impl Writer {
    /// Starts the thread, which owns the connection and the lock until it ends; needs a runtime.
    pub(super) fn start(
        db: Connection,
        lock: FileLock,
        publish: Publish,
        disk: Arc<Disk>,
        metrics: CommitMetrics,
    ) -> io::Result<Self> {
        let (messages, received) = mpsc::channel(QUEUE_CAPACITY);
        let runtime = Handle::current();
        let thread = thread::Builder::new().name("store-writer".into()).spawn(move || {
            write_until_closed(db, received, &publish, &disk, &metrics, &runtime);
            drop(lock);
        })?;
        Ok(Self { messages, thread: Mutex::new(Some(thread)) })
    }

    /// Runs `work` in a transaction and returns its value after the commit.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection, &mut Vec<Change>) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        let (reply, answer) = oneshot::channel();
        let job = Box::new(Write { work: Some(work), result: None, reply });
        self.messages.send(Message::Job(job)).await.map_err(|_| Error::Closed)?;
        answer.await.map_err(|_| Error::Closed)?
    }

    /// Returns how many writes wait for the thread.
    pub(super) fn waiting(&self) -> usize {
        self.messages.max_capacity() - self.messages.capacity()
    }

    /// Waits until the thread takes no more messages.
    pub(super) async fn ended(&self) {
        self.messages.closed().await;
    }

    /// Lets the thread finish what it was sent, and waits for its end.
    pub(super) async fn close(&self) {
        // It fails only when the thread has ended by itself.
        let _ = self.messages.send(Message::Close).await;
        let thread = self.thread.lock().expect("nobody panics while holding it").take();
        if let Some(thread) = thread {
            let joined = tokio::task::spawn_blocking(|| thread.join()).await;
            if !matches!(joined, Ok(Ok(()))) {
                tracing::error!("the store's writer ended by a panic");
            }
        }
    }
}

fn write_until_closed(
    mut db: Connection,
    mut messages: mpsc::Receiver<Message>,
    publish: &Publish,
    disk: &Disk,
    metrics: &CommitMetrics,
    runtime: &Handle,
) {
    while let Some(first) = messages.blocking_recv() {
        let mut batch = Vec::new();
        let mut next = Some(first);
        while let Some(message) = next {
            match message {
                Message::Job(job) => batch.push(job),
                Message::Close => messages.close(),
            }
            next = if batch.len() < MAX_BATCH { messages.try_recv().ok() } else { None };
        }
        let committed = write_batch(&mut db, &mut batch, publish, disk, metrics);
        // Told from here, each caller would wake up on its own and take this thread's turn.
        runtime.spawn(async move { answer(batch, &committed) });
    }
}

/// Tells each caller what became of its write.
fn answer(batch: Vec<Box<dyn Job>>, committed: &Result<(), Error>) {
    for job in batch {
        job.answer(committed.clone());
    }
}

/// Commits the jobs together; one that fails is undone alone.
fn write_batch(
    db: &mut Connection,
    batch: &mut [Box<dyn Job>],
    publish: &Publish,
    disk: &Disk,
    metrics: &CommitMetrics,
) -> Result<(), Error> {
    let mut changes = Vec::new();
    let started = Instant::now();
    let committed = commit(db, batch, &mut changes);
    disk.note(&committed);
    match &committed {
        Ok(()) => metrics.committed(batch.len(), started.elapsed()),
        Err(_) => metrics.failed(),
    }
    match &committed {
        Ok(()) if changes.is_empty() => {}
        Ok(()) => publish(changes),
        Err(err) => tracing::error!(error = %chain(err), "a commit failed"),
    }
    committed
}

fn commit(
    db: &mut Connection,
    batch: &mut [Box<dyn Job>],
    changes: &mut Vec<Change>,
) -> Result<(), Error> {
    let mut tx = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
    for job in batch {
        let kept_changes = changes.len();
        let savepoint = tx.savepoint()?;
        match job.work(&savepoint, changes) {
            Ok(()) => savepoint.commit()?,
            // A full or failing disk makes the engine undo the whole transaction: the others lose for the same cause.
            Err(err) if savepoint.is_autocommit() => return Err(err),
            Err(_) => {
                changes.truncate(kept_changes);
                savepoint.finish()?;
            }
        }
    }
    Ok(tx.commit()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    type Answer = oneshot::Receiver<Result<i64, Error>>;

    /// Returns a job that stores this many bytes, or refuses when there are none, and where its answer comes.
    fn job(bytes: u32) -> (Box<dyn Job>, Answer) {
        let (reply, answer) = oneshot::channel();
        let work = move |db: &Connection, changes: &mut Vec<Change>| {
            changes.push(Change::Deleted(crate::store::DeletedRow {
                kind: crate::store::RecordKind::Knowledge,
                row: bytes.into(),
                seq: 0,
            }));
            db.execute("INSERT INTO rows VALUES (zeroblob(?1))", [bytes])?;
            if bytes == 0 { Err(Error::KeyReused) } else { Ok(db.last_insert_rowid()) }
        };
        (Box::new(Write { work: Some(work), result: None, reply }), answer)
    }

    /// Writes jobs of these sizes in one batch, and returns their answers and the rows that were published.
    fn write(db: &mut Connection, sizes: &[u32]) -> (Vec<Result<i64, Error>>, Vec<i64>) {
        let (mut jobs, mut answers): (Vec<_>, Vec<Answer>) =
            sizes.iter().map(|size| job(*size)).unzip();
        let (published, told) = std::sync::mpsc::channel();
        let publish: Publish = Box::new(move |changes| published.send(changes).unwrap());
        let committed =
            write_batch(db, &mut jobs, &publish, &Disk::default(), &CommitMetrics::default());
        answer(jobs, &committed);
        let rows = told.try_iter().flatten().map(|change| match change {
            Change::Deleted(deleted) => deleted.row,
            _ => panic!("only deletions are made here"),
        });
        (answers.iter_mut().map(|answer| answer.try_recv().unwrap()).collect(), rows.collect())
    }

    fn count(db: &Connection) -> i64 {
        db.query_row("SELECT count(*) FROM rows", [], |row| row.get(0)).unwrap()
    }

    #[test]
    fn a_failed_job_is_undone_alone() {
        let mut db = Connection::open_in_memory().unwrap();
        db.execute_batch("CREATE TABLE rows (cell BLOB)").unwrap();
        let (answers, published) = write(&mut db, &[1, 0, 2]);
        assert!(matches!(answers[..], [Ok(_), Err(Error::KeyReused), Ok(_)]), "{answers:?}");
        assert_eq!((count(&db), published), (2, vec![1, 2]));
    }

    #[test]
    fn a_full_disk_fails_the_batch_as_a_whole_and_the_next_one_goes_on() {
        let folder = tempfile::tempdir().unwrap();
        let mut db = Connection::open(folder.path().join("full.db")).unwrap();
        db.execute_batch("PRAGMA journal_mode = WAL; CREATE TABLE rows (cell BLOB)").unwrap();
        db.pragma_update(None, "max_page_count", 10).unwrap();
        let (answers, published) = write(&mut db, &[1, 1 << 20, 2]);
        let is_full = |answer: &Result<i64, Error>| matches!(answer, Err(Error::DiskFull(_)));
        assert!(answers.iter().all(is_full), "{answers:?}");
        assert_eq!((count(&db), published), (0, vec![]));

        let (answers, published) = write(&mut db, &[3]);
        assert!(matches!(answers[..], [Ok(_)]), "{answers:?}");
        assert_eq!((count(&db), published), (1, vec![3]));
    }
}
