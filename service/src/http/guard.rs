//! Which `Host` and `Origin` a port answers to.
//!
//! A browser lets any web page send requests to a local port, and DNS can be made to point anywhere.
//! Programs send no `Origin` and name the host they mean, so both headers are checked on every request.

use axum::{
    Json,
    http::{HeaderMap, HeaderName, StatusCode, header},
    response::{IntoResponse, Response},
};

/// The hosts and origins a port answers to, besides loopback and no origin.
#[derive(Clone, Debug, Default)]
pub struct Guard {
    hosts: Vec<String>,
    origins: Vec<String>,
    allows_own_pages: bool,
}

/// Why a request is refused before anything looks at it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The `Host` header is missing, doubled, or names another machine.
    #[error("the Host header must be a loopback address or a listed host")]
    Host,
    /// The request comes from a web page that is not listed.
    #[error("the Origin header names a web page that is not listed")]
    Origin,
}

impl Guard {
    /// Returns a guard that also answers to `hosts` (without port) and `origins` (as browsers send them).
    pub fn new(hosts: Vec<String>, origins: Vec<String>) -> Self {
        Self { hosts, origins, allows_own_pages: false }
    }

    /// Answers also to pages that come from this very port, under the host that the request names.
    #[must_use]
    pub fn allow_own_pages(self) -> Self {
        Self { allows_own_pages: true, ..self }
    }

    /// Checks one request's headers.
    ///
    /// # Errors
    ///
    /// Says which header is refused.
    pub fn check(&self, headers: &HeaderMap) -> Result<(), Refusal> {
        let host = single(headers, &header::HOST).ok_or(Refusal::Host)?;
        let name = host_name(host);
        if !is_loopback(name) && !self.hosts.iter().any(|listed| listed.eq_ignore_ascii_case(name))
        {
            return Err(Refusal::Host);
        }
        if !headers.contains_key(header::ORIGIN) {
            return Ok(());
        }
        match single(headers, &header::ORIGIN) {
            Some(origin) if self.origins.iter().any(|listed| listed == origin) => Ok(()),
            Some(origin) if self.allows_own_pages && is_own(origin, host) => Ok(()),
            _ => Err(Refusal::Origin),
        }
    }
}

/// Returns the header's value when it stands there exactly once and is text.
fn single<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    let mut values = headers.get_all(name).iter();
    let value = values.next()?.to_str().ok()?;
    values.next().is_none().then_some(value)
}

/// Returns a `Host` header's name, without port and without the brackets of an IPv6 address.
fn host_name(host: &str) -> &str {
    if let Some(rest) = host.strip_prefix('[') {
        return rest.split_once(']').map_or(rest, |(name, _)| name);
    }
    host.split_once(':').map_or(host, |(name, _)| name)
}

/// Tells whether a page comes from the host that the request is sent to; the host was checked before.
fn is_own(origin: &str, host: &str) -> bool {
    let authority = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
    authority.is_some_and(|authority| authority.eq_ignore_ascii_case(host))
}

fn is_loopback(name: &str) -> bool {
    name.eq_ignore_ascii_case("localhost")
        || name.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let field = match self {
            Self::Host => "Host",
            Self::Origin => "Origin",
        };
        let body = serde_json::json!({
            "error": { "code": "forbidden", "message": self.to_string(), "field": field }
        });
        (StatusCode::FORBIDDEN, Json(body)).into_response()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn guard() -> Guard {
        Guard::new(vec!["hub.example".into()], vec!["https://ui.example".into()])
    }

    #[track_caller]
    fn check(headers: &[(&str, &str)], expected: &Result<(), Refusal>) {
        check_with(&guard(), headers, expected);
    }

    #[track_caller]
    fn check_with(guard: &Guard, headers: &[(&str, &str)], expected: &Result<(), Refusal>) {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(HeaderName::try_from(*name).unwrap(), value.parse().unwrap());
        }
        assert_eq!(guard.check(&map), *expected, "{headers:?}");
    }

    #[test]
    fn answers_to_loopback_and_listed_hosts_only() {
        for host in [
            "localhost",
            "LOCALHOST:8000",
            "127.0.0.1:1",
            "127.8.8.8",
            "[::1]:8000",
            "hub.example:80",
        ] {
            check(&[("host", host)], &Ok(()));
        }
        for host in ["evil.example", "localhost.evil.example", "10.0.0.1", "[fe80::1]", ""] {
            check(&[("host", host)], &Err(Refusal::Host));
        }
        check(&[], &Err(Refusal::Host));
        check(&[("host", "localhost"), ("host", "evil.example")], &Err(Refusal::Host));
    }

    #[test]
    fn answers_to_no_origin_and_listed_origins_only() {
        check(&[("host", "localhost"), ("origin", "https://ui.example")], &Ok(()));
        for origin in ["https://evil.example", "null", "http://localhost", ""] {
            check(&[("host", "localhost"), ("origin", origin)], &Err(Refusal::Origin));
        }
        let twice = [("host", "localhost"), ("origin", "https://ui.example"), ("origin", "null")];
        check(&twice, &Err(Refusal::Origin));
    }

    #[test]
    fn own_pages_are_answered_where_that_is_wanted() {
        let own = [("host", "localhost:8000"), ("origin", "http://localhost:8000")];
        check(&own, &Err(Refusal::Origin));
        let guard = guard().allow_own_pages();
        check_with(&guard, &own, &Ok(()));
        let behind_proxy = [("host", "hub.example"), ("origin", "https://hub.example")];
        check_with(&guard, &behind_proxy, &Ok(()));
        for (host, origin, refusal) in [
            ("localhost:8000", "http://localhost:8001", Refusal::Origin),
            ("localhost:8000", "http://localhost", Refusal::Origin),
            ("localhost:8000", "http://127.0.0.1:8000", Refusal::Origin),
            ("localhost:8000", "null", Refusal::Origin),
            ("localhost:8000", "file://localhost:8000", Refusal::Origin),
            ("evil.example", "http://evil.example", Refusal::Host),
        ] {
            check_with(&guard, &[("host", host), ("origin", origin)], &Err(refusal));
        }
    }
}
