//! What Prometheus reads of a daemon: its requests, its process, and the page that tells them.

mod requests;

use std::{fmt, fs, time::Duration};

use axum::{
    http::header,
    response::{IntoResponse, Response},
};
use prometheus_client::{
    collector::Collector,
    encoding::{DescriptorEncoder, EncodeMetric, text},
    metrics::{MetricType, gauge::ConstGauge},
    registry::{Registry, Unit},
};

pub use requests::RequestMetrics;

/// The format of a page, as the `OpenMetrics` standard names it.
pub const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Returns everything in `registry` as Prometheus reads it.
pub fn page(registry: &Registry) -> Response {
    let mut page = String::new();
    text::encode(&mut page, registry).expect("a string takes everything");
    ([(header::CONTENT_TYPE, CONTENT_TYPE)], page).into_response()
}

/// Adds what Prometheus wants to know of any process: since when it runs, and how much memory it has.
///
/// `started` counts from the Unix epoch; the memory is missing where the system does not tell it in `/proc`.
pub fn register_process(registry: &mut Registry, started: Duration) {
    registry.register_collector(Box::new(Process { started }));
}

#[derive(Debug)]
struct Process {
    started: Duration,
}

impl Collector for Process {
    fn encode(&self, mut encoder: DescriptorEncoder) -> Result<(), fmt::Error> {
        let mut gauge = |name, help, unit, value| {
            let metric = encoder.encode_descriptor(name, help, Some(&unit), MetricType::Gauge)?;
            ConstGauge::new(value).encode(metric)
        };
        let started = self.started.as_secs_f64();
        let help = "When the process started, since the Unix epoch";
        gauge("process_start_time", help, Unit::Seconds, started)?;
        match resident_bytes() {
            Some(bytes) => gauge("process_resident_memory", "Resident memory", Unit::Bytes, bytes),
            None => Ok(()),
        }
    }
}

fn resident_bytes() -> Option<f64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let kibibytes = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kibibytes: f64 = kibibytes.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes * 1024.0)
}
