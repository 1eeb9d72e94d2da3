//! Reading the hosts and origins that a setting lists; whatever could never match is refused.

use std::net::Ipv6Addr;

/// Reads the name of a host, for clap: no scheme, no port, no path.
///
/// # Errors
///
/// Says what a host looks like.
pub fn parse_host(text: &str) -> Result<String, String> {
    let name = text.trim().strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    let name = name.unwrap_or(text.trim());
    if is_name(name) || name.parse::<Ipv6Addr>().is_ok() {
        return Ok(name.to_ascii_lowercase());
    }
    Err("expected a host's name or address without scheme, port and path, such as hub.example"
        .to_owned())
}

/// Reads an origin as browsers send it, for clap: scheme, host, and the port unless it is the scheme's own.
///
/// # Errors
///
/// Says what an origin looks like.
pub fn parse_origin(text: &str) -> Result<String, String> {
    let origin = text.trim().to_ascii_lowercase();
    let parts = origin.split_once("://").map(|(scheme, rest)| (scheme, split_port(rest)));
    let Some((scheme, (host, port))) = parts else { return Err(no_origin()) };
    let is_scheme = scheme.starts_with(|c: char| c.is_ascii_lowercase())
        && scheme.bytes().all(|b| b.is_ascii_alphanumeric() || b"+-.".contains(&b));
    let address = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    let is_host = address.map_or(is_name(host), |address| address.parse::<Ipv6Addr>().is_ok());
    if !is_scheme || !is_host {
        return Err(no_origin());
    }
    match (scheme, port) {
        ("http", Some("80")) | ("https", Some("443")) => {
            Err("leave out the port: browsers do not send the scheme's own".to_owned())
        }
        (_, None) => Ok(origin),
        (_, Some(port)) if port.parse::<u16>().is_ok_and(|port| port > 0) => Ok(origin),
        _ => Err(no_origin()),
    }
}

fn split_port(authority: &str) -> (&str, Option<&str>) {
    match authority.rsplit_once(':') {
        Some((host, port)) if !port.contains(']') => (host, Some(port)),
        _ => (authority, None),
    }
}

fn is_name(name: &str) -> bool {
    let is_char = |b: u8| b.is_ascii_alphanumeric() || b".-_".contains(&b);
    (1..=253).contains(&name.len()) && name.bytes().all(is_char)
}

fn no_origin() -> String {
    "expected scheme://host or scheme://host:port without a path, such as https://ui.example"
        .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_has_neither_scheme_nor_port() {
        for (text, host) in [
            ("hub.example", "hub.example"),
            (" Hub.Example ", "hub.example"),
            ("10.0.0.1", "10.0.0.1"),
            ("[fe80::1]", "fe80::1"),
            ("fe80::1", "fe80::1"),
        ] {
            assert_eq!(parse_host(text).as_deref(), Ok(host));
        }
        for text in
            ["", " ", "*", "hub.example:8000", "https://hub.example", "hub.example/x", "a b"]
        {
            assert!(parse_host(text).is_err(), "{text}");
        }
    }

    #[test]
    fn an_origin_is_what_a_browser_sends() {
        for (text, origin) in [
            ("https://ui.example", "https://ui.example"),
            ("HTTP://UI.example:8080", "http://ui.example:8080"),
            ("http://[::1]:3000", "http://[::1]:3000"),
            ("http://[::1]", "http://[::1]"),
            ("chrome-extension://abcdefgh", "chrome-extension://abcdefgh"),
        ] {
            assert_eq!(parse_origin(text).as_deref(), Ok(origin));
        }
        for text in [
            "",
            "*",
            "null",
            "ui.example",
            "https://",
            "https://ui.example/",
            "https://ui.example/a",
            "https://a:b@ui.example",
            "https://ui.example:",
            "https://ui.example:0",
            "https://*.example",
            "https://ui.example:99999",
            "https://ui.example:443",
            "http://ui.example:80",
            "://ui.example",
        ] {
            assert!(parse_origin(text).is_err(), "{text}");
        }
    }
}
