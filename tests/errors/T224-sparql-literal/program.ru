PREFIX ex: <http://example.org/>
INSERT { "a" ex:near ?y } WHERE { ?x ex:near ?y }
