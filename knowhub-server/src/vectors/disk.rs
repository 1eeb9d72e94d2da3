//! The index's folder: the graph in one file, and in a second, the head, all else and which file that is.
//!
//! The graph is written under a name that was never used, then the head takes the place of the one before:
//! whatever happens in between, the head that is there names a whole graph, or there is none.
//! Both are summed, since the engine takes each byte of its file on trust.

use std::{
    fs::{self, File},
    io::{self, Read, Write},
    mem,
    path::{Path, PathBuf},
};

use roaring::RoaringBitmap;
use serde::{Deserialize, Serialize};

use super::{
    Error, Space,
    flat::Flat,
    graph::Graph,
    known::{Known, Snapshot},
};
use crate::store::Identity;

/// Raised whenever the form of a file or the meaning of a label changes, so that older ones are built anew.
const VERSION: u32 = 1;

/// The head's name.
const HEAD: &str = "head";

/// What graphs are called, before their number.
const GRAPH: &str = "graph-";

/// How unfinished files end.
const UNFINISHED: &str = ".new";

/// How many bytes the sum at the end of the head has.
const SUM_BYTES: usize = 4;

/// What an index is of, and how far it is.
pub(super) struct Head<'a> {
    pub(super) space: &'a Space,
    pub(super) store_id: &'a str,
    pub(super) mark: i64,
}

/// An index as it was saved, or an empty one.
pub(super) struct Loaded {
    pub(super) graph: Graph,
    pub(super) flat: Flat,
    pub(super) known: Known,
    pub(super) mark: i64,
}

impl Loaded {
    pub(super) fn empty(graph: Graph, flat: Flat) -> Self {
        Self { graph, flat, known: Known::default(), mark: 0 }
    }
}

/// The first line of the head; behind it are bitmaps, of all rows and of each label's, and the sum of all before.
#[derive(Serialize, Deserialize)]
struct Contents {
    version: u32,
    /// Another version of the engine may read a graph otherwise.
    engine: String,
    space: String,
    dimension: usize,
    store: String,
    mark: i64,
    graph: GraphFile,
    labels: Vec<String>,
}

#[derive(Serialize, Deserialize)]
struct GraphFile {
    name: String,
    bytes: u64,
    sum: u32,
    /// Nodes without a row.
    free: usize,
}

/// Reads what was saved, or tells why it cannot be used.
pub(super) fn load(folder: &Path, space: &Space, store: &Identity) -> Result<Loaded, String> {
    let (mut contents, bitmaps) = read_head(&folder.join(HEAD))?;
    if contents.version != VERSION || contents.engine != usearch::version() {
        return Err("it is of another version".into());
    }
    if contents.space != space.name || contents.dimension != space.dimension {
        return Err("its vectors are of another space".into());
    }
    if contents.store != store.id {
        return Err("it belongs to another store".into());
    }
    if contents.mark > store.last_seq {
        return Err("it is ahead of the store".into());
    }
    let (rows, labels) = read_bitmaps(&bitmaps, mem::take(&mut contents.labels))
        .map_err(|err| format!("its rows cannot be read: {err}"))?;
    let graph = load_graph(folder, &contents, &rows)?;
    let mut flat = Flat::new(space.dimension);
    for row in &rows {
        let vector = graph.get(row).map_err(|err| err.to_string())?;
        flat.set(row, &vector.ok_or("a row is missing in the graph")?);
    }
    Ok(Loaded { graph, flat, known: Known::restore(rows, labels), mark: contents.mark })
}

/// Writes an index beside the one that is there, and then takes its place.
///
/// The snapshot has exactly the rows of the graph.
pub(super) fn save(
    folder: &Path,
    head: &Head<'_>,
    graph: &Graph,
    snapshot: &Snapshot,
) -> Result<(), Error> {
    fs::create_dir_all(folder).map_err(unusable(folder))?;
    let name = new_name(folder).map_err(unusable(folder))?;
    let saved = save_graph(folder, &name, graph).and_then(|graph| {
        let contents = Contents {
            version: VERSION,
            engine: usearch::version().to_owned(),
            space: head.space.name.clone(),
            dimension: head.space.dimension,
            store: head.store_id.to_owned(),
            mark: head.mark,
            graph,
            labels: snapshot.labels.iter().map(|label| label.name.to_string()).collect(),
        };
        save_head(folder, &contents, snapshot)
    });
    if saved.is_ok() {
        remove_files(folder, |other| other != name);
    } else {
        // A full disk needs the room; but the new head may be in its place, and only that was not confirmed.
        let is_named = read_head(&folder.join(HEAD)).is_ok_and(|(head, _)| head.graph.name == name);
        remove_files(folder, |other| other.ends_with(UNFINISHED) || (other == name && !is_named));
    }
    saved
}

fn read_head(path: &Path) -> Result<(Contents, Vec<u8>), String> {
    let mut bytes = fs::read(path).map_err(|err| match err.kind() {
        io::ErrorKind::NotFound => "there is none".to_owned(),
        _ => format!("its head cannot be read: {err}"),
    })?;
    let body = bytes.len().checked_sub(SUM_BYTES).ok_or("its head is cut")?;
    let sum = bytes.split_off(body);
    if crc32fast::hash(&bytes).to_le_bytes() != *sum {
        return Err("its head is damaged".into());
    }
    let line = bytes.iter().position(|byte| *byte == b'\n').ok_or("its head is of another form")?;
    let bitmaps = bytes.split_off(line + 1);
    let contents = serde_json::from_slice(&bytes).map_err(|err| err.to_string())?;
    Ok((contents, bitmaps))
}

type Bitmaps = (RoaringBitmap, Vec<(String, RoaringBitmap)>);

fn read_bitmaps(mut bytes: &[u8], labels: Vec<String>) -> io::Result<Bitmaps> {
    let rows = RoaringBitmap::deserialize_from(&mut bytes)?;
    let label = |name| Ok((name, RoaringBitmap::deserialize_from(&mut bytes)?));
    let labels = labels.into_iter().map(label).collect::<io::Result<_>>()?;
    Ok((rows, labels))
}

fn load_graph(folder: &Path, contents: &Contents, rows: &RoaringBitmap) -> Result<Graph, String> {
    let file = &contents.graph;
    let path = folder.join(&file.name);
    let bytes =
        fs::metadata(&path).map_err(|err| format!("its graph cannot be read: {err}"))?.len();
    let sum = sum_of(&path).map_err(|err| format!("its graph cannot be read: {err}"))?;
    if (bytes, sum) != (file.bytes, file.sum) {
        return Err("its graph is damaged".into());
    }
    let path = path.to_str().ok_or("its path is no Unicode text")?;
    let graph = Graph::load(contents.dimension, path, file.free).map_err(|err| err.to_string())?;
    if graph.dimension() != contents.dimension || graph.len() as u64 != rows.len() {
        return Err("its graph has other rows".into());
    }
    Ok(graph)
}

/// Writes the graph under this name, which is new.
fn save_graph(folder: &Path, name: &str, graph: &Graph) -> Result<GraphFile, Error> {
    let path = folder.join(name);
    let unfinished = folder.join(format!("{name}{UNFINISHED}"));
    graph.save(&unfinished)?;
    let whole = || {
        let file = File::open(&unfinished)?;
        file.sync_all()?;
        let bytes = file.metadata()?.len();
        if bytes != graph.bytes() {
            return Err(io::Error::other(format!("{bytes} of {} bytes", graph.bytes())));
        }
        let sum = sum_of(&unfinished)?;
        fs::rename(&unfinished, &path)?;
        sync_folder(folder)?;
        Ok(GraphFile { name: name.to_owned(), bytes, sum, free: graph.free() })
    };
    whole().map_err(unusable(&path))
}

/// Writes the head in place of the one before.
fn save_head(folder: &Path, contents: &Contents, snapshot: &Snapshot) -> Result<(), Error> {
    let path = folder.join(HEAD);
    let unfinished = folder.join(format!("{HEAD}{UNFINISHED}"));
    let write = || {
        let mut bytes = serde_json::to_vec(contents)?;
        bytes.push(b'\n');
        snapshot.rows.serialize_into(&mut bytes)?;
        for label in &snapshot.labels {
            label.rows.serialize_into(&mut bytes)?;
        }
        bytes.extend(crc32fast::hash(&bytes).to_le_bytes());
        let mut file = File::create(&unfinished)?;
        file.write_all(&bytes)?;
        file.sync_all()?;
        fs::rename(&unfinished, &path)?;
        sync_folder(folder)
    };
    write().map_err(unusable(&path))
}

/// Returns a name that no graph in the folder has.
fn new_name(folder: &Path) -> io::Result<String> {
    let numbers = fs::read_dir(folder)?.filter_map(|entry| {
        let name = entry.ok()?.file_name().into_string().ok()?;
        name.strip_prefix(GRAPH)?.trim_end_matches(UNFINISHED).parse::<u32>().ok()
    });
    Ok(format!("{GRAPH}{}", numbers.max().map_or(0, |number| u64::from(number) + 1)))
}

/// Removes such graphs and unfinished files; what cannot be removed is no harm, and tried again the next time.
fn remove_files(folder: &Path, is_in_the_way: impl Fn(&str) -> bool) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let is_ours = |name: &str| name.starts_with(GRAPH) || name.ends_with(UNFINISHED);
        if name.to_str().is_some_and(|name| is_ours(name) && is_in_the_way(name)) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

fn sum_of(path: &Path) -> io::Result<u32> {
    let mut file = File::open(path)?;
    let mut sum = crc32fast::Hasher::new();
    let mut buffer = vec![0; 1 << 20];
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(sum.finalize()),
            read => sum.update(&buffer[..read]),
        }
    }
}

/// Makes renames in a folder durable.
fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

fn unusable(path: &Path) -> impl FnOnce(io::Error) -> Error {
    let path: PathBuf = path.to_owned();
    move |source| Error::File { path, source }
}
