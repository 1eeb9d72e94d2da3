//! Searches beside all that changes an index.

use std::{
    sync::atomic::{AtomicBool, AtomicI64, Ordering},
    thread,
};

use super::{Fixture, Random, vectored};

const DIMENSION: usize = 16;

#[test]
fn searches_go_on_while_rows_come_go_and_are_saved() {
    let fixture = Fixture::new(DIMENSION);
    let index = fixture.open();
    let mut random = Random(8);
    let rows: Vec<_> =
        (0..6_000).map(|row| vectored(row, &["type:a"], &random.unit(DIMENSION))).collect();
    index.put(rows[..4_000].to_vec()).unwrap();
    // Rows below are hidden for good.
    let (hidden, is_done) = (AtomicI64::new(0), AtomicBool::new(false));
    thread::scope(|scope| {
        // More than may look into the graph at once.
        for seed in 0..20 {
            let (index, hidden, is_done) = (&index, &hidden, &is_done);
            scope.spawn(move || {
                let mut random = Random(seed);
                let filters = if seed % 2 == 0 { vec![] } else { vec![vec!["type:a".to_owned()]] };
                while !is_done.load(Ordering::Relaxed) {
                    let below = hidden.load(Ordering::SeqCst);
                    let query = random.unit(DIMENSION);
                    let near = index.search(&query, &filters, 10).unwrap();
                    assert!(near.iter().all(|near| near.row >= below && near.cosine < 1.01));
                    assert_eq!(near.len(), 10);
                    index.background(&query).unwrap().unwrap();
                }
            });
        }
        let hiding = scope.spawn(|| {
            for row in 0..1_000 {
                index.hide(row);
                hidden.store(row + 1, Ordering::SeqCst);
            }
        });
        scope.spawn(|| {
            for chunk in rows[1_000..].chunks(500) {
                index.put(chunk.to_vec()).unwrap();
                index.relabel(chunk[0].row, &["type:a".into(), "type:b".into()]);
                index.save(1).unwrap();
            }
            hiding.join().unwrap();
            is_done.store(true, Ordering::Relaxed);
        });
    });
    index.save(2).unwrap();
    assert_eq!((index.len(), fixture.open().len()), (5_000, 5_000));
}
