//! Whatever becomes of the files, an index opens: as it was saved, or empty.

use std::{
    fs,
    path::{Path, PathBuf},
};

use super::{Fixture, found, vectored};

fn saved() -> Fixture {
    let fixture = Fixture::new(2);
    let index = fixture.open();
    index
        .put(vec![vectored(1, &["type:a"], &[1.0, 0.0]), vectored(2, &["type:b"], &[0.0, 1.0])])
        .unwrap();
    index.save(50).unwrap();
    fixture
}

/// Returns the graphs in a folder.
fn graphs(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let is_graph =
        |path: &PathBuf| path.file_name().unwrap().to_str().unwrap().starts_with("graph-");
    entries.filter(is_graph).collect()
}

fn assert_whole(fixture: &Fixture, case: &str) {
    let index = fixture.open();
    assert_eq!((index.mark(), index.len()), (50, 2), "{case}");
    assert_eq!(found(&index, &[1.0, 0.0], &[vec!["type:a".into()]], 5), [1], "{case}");
}

fn assert_empty(fixture: &Fixture, case: &str) {
    let index = fixture.open();
    assert_eq!((index.mark(), index.len()), (0, 0), "{case}");
    index.put(vec![vectored(3, &[], &[1.0, 0.0])]).unwrap();
    index.save(60).unwrap();
    assert_eq!((fixture.open().mark(), fixture.open().len()), (60, 1), "{case}");
    assert_eq!(graphs(fixture.folder.path()).len(), 1, "{case}");
}

#[test]
fn damaged_files_are_not_used() {
    for name in ["head", "graph-0"] {
        let whole = fs::read(saved().folder.path().join(name)).unwrap();
        let at = |share: usize| whole.len() * share / 100;
        for share in [0, 1, 30, 60, 99] {
            let fixture = saved();
            fs::write(fixture.folder.path().join(name), &whole[..at(share)]).unwrap();
            assert_empty(&fixture, &format!("{name} cut at {share} %"));

            let fixture = saved();
            let mut bytes = whole.clone();
            bytes[at(share)] ^= 0x10;
            fs::write(fixture.folder.path().join(name), &bytes).unwrap();
            assert_empty(&fixture, &format!("{name} with a flipped bit at {share} %"));
        }
        let fixture = saved();
        fs::write(fixture.folder.path().join(name), [&whole[..], b"x"].concat()).unwrap();
        assert_empty(&fixture, &format!("{name} with more at its end"));

        let fixture = saved();
        fs::remove_file(fixture.folder.path().join(name)).unwrap();
        assert_empty(&fixture, &format!("no {name}"));
    }
}

/// Changes what the head says, with a right sum.
fn rewrite_head(fixture: &Fixture, from: &str, to: &str) {
    let path = fixture.folder.path().join("head");
    let bytes = fs::read(&path).unwrap();
    let body = &bytes[..bytes.len() - 4];
    let at = body.windows(from.len()).position(|window| window == from.as_bytes()).unwrap();
    let mut changed = [&body[..at], to.as_bytes(), &body[at + from.len()..]].concat();
    changed.extend(crc32fast::hash(&changed).to_le_bytes());
    fs::write(path, changed).unwrap();
}

#[test]
fn what_is_not_of_this_store_and_space_is_not_used() {
    type Change = fn(&mut Fixture);
    let changes: [(&str, Change); 8] = [
        ("version", |fixture| rewrite_head(fixture, r#""version":1"#, r#""version":0"#)),
        ("engine", |fixture| rewrite_head(fixture, r#""engine":""#, r#""engine":"1"#)),
        ("rows", |fixture| rewrite_head(fixture, r#""free":0"#, r#""free":"""#)),
        ("labels", |fixture| rewrite_head(fixture, r#""labels":["#, r#""labels":["x","#)),
        ("space", |fixture| fixture.space.name = "other".into()),
        ("dimension", |fixture| rewrite_head(fixture, r#""dimension":2"#, r#""dimension":3"#)),
        ("store", |fixture| fixture.store.id = "other".into()),
        ("ahead", |fixture| fixture.store.last_seq = 49),
    ];
    for (case, change) in changes {
        let mut fixture = saved();
        change(&mut fixture);
        if case == "ahead" {
            assert_eq!(fixture.open().mark(), 0);
        } else {
            assert_empty(&fixture, case);
        }
    }
    let mut fixture = saved();
    fixture.store.last_seq = 50;
    assert_whole(&fixture, "exactly as far as the store");
}

#[test]
fn a_crash_between_any_two_steps_leaves_what_was_saved() {
    let newer = saved();
    let index = newer.open();
    index.put(vec![vectored(3, &[], &[1.0, 0.0])]).unwrap();
    index.save(60).unwrap();
    let [graph] = graphs(newer.folder.path()).try_into().unwrap();
    assert!(graph.ends_with("graph-1"), "{}", graph.display());
    let head = newer.folder.path().join("head");

    let fixture = saved();
    let at = |name: &str| fixture.folder.path().join(name);
    let bytes = fs::read(&graph).unwrap();
    fs::write(at("graph-1.new"), &bytes[..bytes.len() / 2]).unwrap();
    assert_whole(&fixture, "while the graph is written");
    fs::rename(at("graph-1.new"), at("graph-1")).unwrap();
    assert_whole(&fixture, "after the graph");
    fs::copy(&graph, at("graph-1")).unwrap();
    fs::write(at("head.new"), &fs::read(&head).unwrap()[..10]).unwrap();
    assert_whole(&fixture, "while the head is written");
    fs::copy(&head, at("head")).unwrap();
    assert_eq!(
        (fixture.open().mark(), fixture.open().len()),
        (60, 3),
        "before the old one is removed"
    );
    fixture.open().save(70).unwrap();
    assert_eq!(fs::read_dir(fixture.folder.path()).unwrap().count(), 2, "nothing is left over");
}

#[test]
fn a_save_that_fails_leaves_what_was_saved() {
    let fixture = saved();
    let index = fixture.open();
    index.put(vec![vectored(3, &[], &[1.0, 0.0])]).unwrap();
    // Where the head should be written is a folder.
    fs::create_dir(fixture.folder.path().join("head.new")).unwrap();
    assert!(index.save(60).is_err());
    assert_eq!(index.mark(), 50);
    assert_whole(&fixture, "the head cannot be written");
    assert_eq!(graphs(fixture.folder.path()).len(), 1);
    assert_eq!(index.len(), 3, "it goes on");
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_leaves_what_was_saved() {
    let fixture = saved();
    let index = fixture.open();
    index.put(vec![vectored(3, &[], &[1.0, 0.0])]).unwrap();
    // The greatest number that is counted, so that the next graph's name is known.
    fs::write(fixture.folder.path().join(format!("graph-{}", u32::MAX)), "").unwrap();
    let next = format!("graph-{}.new", u64::from(u32::MAX) + 1);
    for name in [next.as_str(), "head.new"] {
        // The engine does not notice what its last flush could not write.
        std::os::unix::fs::symlink("/dev/full", fixture.folder.path().join(name)).unwrap();
        assert!(index.save(60).is_err(), "{name}");
        assert_whole(&fixture, name);
        assert!(!fixture.folder.path().join(name).is_symlink(), "{name}");
    }
    index.save(60).unwrap();
    assert_eq!((fixture.open().mark(), fixture.open().len()), (60, 3));
}
