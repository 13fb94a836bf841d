//! Session ids from requests. Pure: the caller passes the date.

/// `{prefix}-{slug}-{date}`. The slug is the request in lower case with every run of characters outside
/// `a-z`, `0-9` and `一-龥` as one `-`, cut to `slug_len` characters; `session` if nothing is left. `date` is
/// `YYYYMMDD`.
pub fn session_id(prefix: &str, request: &str, slug_len: usize, date: &str) -> String {
    let slug = slug(request, slug_len);
    let slug = if slug.is_empty() { "session" } else { &slug };
    format!("{prefix}-{slug}-{date}")
}

fn slug(request: &str, len: usize) -> String {
    let mut slug = String::new();
    for c in request.to_lowercase().chars() {
        if matches!(c, 'a'..='z' | '0'..='9' | '一'..='龥') {
            slug.push(c);
        } else if !slug.ends_with('-') {
            slug.push('-');
        }
    }
    let cut: String = slug.chars().take(len).collect();
    cut.trim_matches('-').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_become_folder_names() {
        for (request, slug) in [
            ("Test the auth module", "test-the-auth-module"),
            ("  Fix: __it__, NOW!  ", "fix-it-now"),
            ("为 登录 模块写测试 v2", "为-登录-模块写测试-v2"),
            ("日本語のテスト", "日本語"),
            ("../../etc/passwd", "etc-passwd"),
            ("äöü", "session"),
            ("", "session"),
            ("---", "session"),
            ("tasks", "tasks"),
        ] {
            assert_eq!(
                session_id("tst", request, 40, "20261115"),
                format!("tst-{slug}-20261115"),
                "{request:?}"
            );
        }
    }

    #[test]
    fn long_requests_are_cut_by_characters_without_a_dash_at_the_end() {
        assert_eq!(
            session_id("planex", &"语".repeat(50), 30, "20261115"),
            format!("planex-{}-20261115", "语".repeat(30))
        );
        assert_eq!(
            session_id("tst", &format!("{} word", "a".repeat(39)), 40, "d"),
            format!("tst-{}-d", "a".repeat(39))
        );
    }
}
