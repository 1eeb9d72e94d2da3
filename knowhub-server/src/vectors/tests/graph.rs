//! The graph against a look at every row, when it is new, worn, and filtered.

use std::collections::BTreeSet;

use super::{Fixture, Random, vectored};
use crate::vectors::{Halves, VectorIndex, is_graph_faster};

const DIMENSION: usize = 16;

/// So many that the graph is asked.
const ROWS: i64 = 6_000;

const LIMIT: usize = 15;

fn filled(fixture: &Fixture, random: &mut Random) -> VectorIndex {
    let index = fixture.open();
    put(&index, 0..ROWS, random);
    index
}

fn put(index: &VectorIndex, rows: impl Iterator<Item = i64>, random: &mut Random) {
    let labels = |row: i64| match row % 1_000 {
        0 => vec!["in:1000", "in:10"],
        rest if rest % 10 == 0 => vec!["in:10"],
        rest if rest % 2 == 1 => vec!["in:2"],
        _ => vec![],
    };
    index
        .put(rows.map(|row| vectored(row, &labels(row), &random.unit(DIMENSION))).collect())
        .unwrap();
}

/// Returns the share of the truly nearest rows that are found, over some queries.
fn recall(index: &VectorIndex, filters: &[Vec<String>], random: &mut Random) -> f32 {
    let (mut found, mut all) = (0, 0);
    for _ in 0..50 {
        let query = random.unit(DIMENSION);
        let near = index.search(&query, filters, LIMIT).unwrap();
        let kept = index.shared.known.lock().kept(filters).rows();
        let exact = {
            let vectors = index.shared.vectors.read();
            vectors.flat.nearest(&Halves::from(query.as_slice()), kept.iter(), LIMIT)
        };
        assert_eq!(near.len(), exact.len(), "as many as there are");
        assert!(near.is_sorted_by(|a, b| a.cosine >= b.cosine));
        let rows: BTreeSet<i64> = near.iter().map(|near| near.row).collect();
        assert_eq!(rows.len(), near.len());
        found += exact.iter().filter(|near| rows.contains(&near.row)).count();
        all += exact.len();
    }
    found as f32 / all as f32
}

#[test]
fn what_is_nearest_is_found_whatever_filters_keep() {
    let mut random = Random(3);
    let index = filled(&Fixture::new(DIMENSION), &mut random);
    assert!(is_graph_faster(6_000, 64, 6_000) && !is_graph_faster(600, 64, 6_000));
    for label in [None, Some("in:2"), Some("in:10"), Some("in:1000"), Some("in:none")] {
        let filters: Vec<_> = label.map(|label| vec![label.to_owned()]).into_iter().collect();
        let recall = recall(&index, &filters, &mut random);
        assert!(recall >= 0.98 || label == Some("in:none"), "{label:?}: {recall}");
    }
    assert_eq!(index.search(&random.unit(DIMENSION), &[], 5_999).unwrap().len(), 5_999);
}

#[test]
fn replaced_rows_do_not_rot_the_graph() {
    let mut random = Random(4);
    let fixture = Fixture::new(DIMENSION);
    let index = filled(&fixture, &mut random);
    for _ in 0..3 {
        put(&index, (0..ROWS).step_by(2), &mut random);
    }
    assert!(recall(&index, &[], &mut random) >= 0.98);
    index.save(1).unwrap();
    let opened = fixture.open();
    assert!(recall(&opened, &[], &mut random) >= 0.98);
    put(&opened, (0..ROWS).step_by(3), &mut random);
    assert!(recall(&opened, &[], &mut random) >= 0.98);
}

#[test]
fn a_graph_with_more_free_nodes_than_rows_is_built_anew() {
    let mut random = Random(5);
    let fixture = Fixture::new(DIMENSION);
    let index = filled(&fixture, &mut random);
    let nodes = |index: &VectorIndex| {
        let vectors = index.shared.vectors.read();
        (vectors.graph.len(), vectors.graph.free())
    };
    (0..2_000).for_each(|row| index.hide(row));
    index.save(1).unwrap();
    assert_eq!(nodes(&index), (4_000, 2_000), "free nodes wait for new rows");
    put(&fixture.open(), 0..500, &mut random);
    let opened = fixture.open();
    put(&opened, 7_000..7_500, &mut random);
    assert_eq!(nodes(&opened), (4_500, 1_500), "which take them, after a restart too");

    (2_000..4_000).for_each(|row| index.hide(row));
    index.save(2).unwrap();
    assert_eq!(nodes(&index), (2_000, 0));
    let query = random.unit(DIMENSION);
    assert!(index.search(&query, &[], 2_000).unwrap().iter().all(|near| near.row >= 4_000));
    assert_eq!(nodes(&fixture.open()), (2_000, 0));
}
