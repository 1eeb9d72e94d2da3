//! What a port counts of its requests.

use axum::{
    extract::{MatchedPath, Request, State},
    http::Method,
    middleware::Next,
    response::Response,
};
use prometheus_client::{
    encoding::EncodeLabelSet,
    metrics::{counter::Counter, family::Family, gauge::Gauge, histogram::Histogram},
    registry::{Registry, Unit},
};
use tokio::time::Instant;

/// Upper bounds of the classes of latency, in seconds.
const LATENCIES: [f64; 14] =
    [0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 30.0];

/// How many requests a port answered, how fast, and how many it is at; clones share the counts.
#[derive(Clone, Debug)]
pub struct RequestMetrics {
    answered: Family<Answer, Counter>,
    latency: Family<Route, Histogram, fn() -> Histogram>,
    in_flight: Gauge,
}

/// Labels of an answered request; each has few values, whatever callers send.
#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Answer {
    method: &'static str,
    route: String,
    status: u16,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Route {
    route: String,
}

impl Default for RequestMetrics {
    fn default() -> Self {
        Self {
            answered: Family::default(),
            latency: Family::new_with_constructor(|| Histogram::new(LATENCIES)),
            in_flight: Gauge::default(),
        }
    }
}

impl RequestMetrics {
    /// Names the counts in `registry`.
    pub fn register(&self, registry: &mut Registry) {
        registry.register("http_requests", "Answered requests", self.answered.clone());
        registry.register_with_unit(
            "http_request_duration",
            "Time until the head of the answer",
            Unit::Seconds,
            self.latency.clone(),
        );
        registry.register(
            "http_requests_in_flight",
            "Requests that wait for their answer",
            self.in_flight.clone(),
        );
    }

    /// Counts one request: a middleware to lay around all routes.
    pub async fn measure(State(metrics): State<Self>, request: Request, next: Next) -> Response {
        let method = method_label(request.method());
        // Never the path itself, of which there is no end.
        let route = request.extensions().get::<MatchedPath>();
        let route = route.map_or("unmatched", MatchedPath::as_str).to_owned();
        let started = Instant::now();
        let in_flight = InFlight::new(&metrics.in_flight);
        let response = next.run(request).await;
        drop(in_flight);
        let status = response.status().as_u16();
        let route = Route { route };
        metrics.latency.get_or_create(&route).observe(started.elapsed().as_secs_f64());
        metrics.answered.get_or_create(&Answer { method, route: route.route, status }).inc();
        response
    }
}

/// A request that has no answer yet; its caller may leave at any time.
struct InFlight(Gauge);

impl InFlight {
    fn new(gauge: &Gauge) -> Self {
        gauge.inc();
        Self(gauge.clone())
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        self.0.dec();
    }
}

fn method_label(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::HEAD => "HEAD",
        Method::POST => "POST",
        Method::PUT => "PUT",
        Method::PATCH => "PATCH",
        Method::DELETE => "DELETE",
        Method::OPTIONS => "OPTIONS",
        _ => "other",
    }
}
