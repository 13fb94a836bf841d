def paginate(items, page=1, per_page=10):
    if page < 1 or per_page < 1:
        raise ValueError("page and per_page start at 1")
    pages = (len(items) + per_page - 1) // per_page
    start = (page - 1) * per_page
    return {
        "items": items[start:start + per_page],
        "page": page,
        "pages": pages,
        "has_next": page < pages,
        "has_previous": page > 1 and pages > 0,
    }
